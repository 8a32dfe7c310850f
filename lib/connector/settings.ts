import * as z from "zod";
import { setting } from "../settings.ts";
import { seconds } from "../time.ts";
import { version } from "../version.ts";
import { idpId } from "./idp/kinds.ts";
import { isHostEntry, vendorHosts } from "./idp/secret-hosts.ts";

const hourly = "0 0 * * * *";

/** What a lease outlasts (decision C15). */
const timeLimits = [
  "IDP_TIMEOUT_SECONDS",
  "DELIVERY_TIMEOUT_SECONDS",
  "ENROLLMENT_TIMEOUT_SECONDS",
  "MAIL_TIMEOUT_SECONDS",
] as const;

/** The connector's settings by the names of its status answer, and every interval of the decisions (decisions G9, C17). */
export const connectorSettings = z
  .object({
    FIDO_CONNECTOR_VERSION: setting.text("Version that status reports. By default the package's.").prefault(version),
    CLOUD_TABLES_SHIPMENTS_TABLE_NAME: setting
      .text("Table of shipments.")
      .regex(/^[A-Za-z][A-Za-z0-9]{2,62}$/, {
        error: "must be a table name: 3 to 63 letters and digits, a letter first",
      })
      .prefault("fprshipments"),
    CRON_PROCESS_SHIPMENT_SCHEDULE: setting.schedule("When shipments are polled; six fields, UTC.").prefault(hourly),
    CRON_PROCESS_CREDENTIAL_REQUESTS_SCHEDULE: setting
      .schedule("When credentials are activated and PIN mails sent.")
      .prefault(hourly),
    CRON_DATA_CLEANUP_SCHEDULE: setting.schedule("When old requests are deleted.").prefault("0 30 * * * *"),
    CRON_DATA_CLEANUP_COMPLETED_DAYS: setting
      .integer(0, 36_500, "Age in days at which ended requests are deleted; 0 keeps them.")
      .prefault("0"),

    EMAIL_API_SEND_ENDPOINT: setting.address("Mail service."),
    EMAIL_SENDER_ADDRESS: setting.text("Sender of PIN mails."),
    EMAIL_CONNECTION_STRING: setting
      .text("Mail service by access key, for local runs only.")
      .regex(/^endpoint=https?:\/\/[^;]+;accesskey=[^;]+$/i, { error: "must have endpoint and accesskey" })
      .optional(),
    PIN_MAIL_DOMAINS: setting
      .list("Domains that PIN mails may go to, comma list; empty allows any. Checked at create and before each send.")
      .prefault(""),

    DELIVERY_API_BASE_URL: setting.address("Delivery service."),
    DELIVERY_JWKS_SIGN_ENDPOINT: setting.address("Keys that the delivery service signs with."),
    DELIVERY_JWKS_TRANSPORT_ENDPOINT: setting.address("Keys that requests to the delivery service are encrypted to."),
    RFPR_API_BASE_URL: setting.address("Pre-registration API of on-site enrollment.").optional(),
    RFPR_RETRY_NUMBER_DAYS: setting.days("How long a failing activation or PIN mail is retried.").prefault("14"),
    ENROLLMENT_SERVICE_API_BASE_URL: setting.address("Enrollment service of on-site enrollment.").optional(),

    IDP_DEFAULT: idpId.meta({ description: "Id of the IdP of credentials that name none." }).prefault("entra"),
    IDP_ENABLE_MULTI_IDP: setting
      .flag(
        "Read several IdPs from `IDP_CONFIGURATION_PATH`; the `IDPA_`, `IDPB_` and `IDPC_` settings mean nothing then.",
      )
      .prefault("false"),
    IDP_CONFIGURATION_PATH: setting
      .text("YAML file of IdPs: a path, or the address of a blob under `CLOUD_STORAGE_BLOB_ENDPOINT`.")
      .optional(),
    IDP_CONFIGURATION_MAX_AGE_SECONDS: setting
      .seconds("Age at which that file is read again (decision C13).")
      .prefault("300"),
    IDP_CONFIGURATION_RETRY_SECONDS: setting.seconds("Pause after a reading of it that failed.").prefault("30"),
    IDP_SECRET_HOSTS: setting
      .list(
        "Hosts that client secrets, assertions and access tokens of IdPs may be sent to, comma list. `*.` at the front stands for one label; a port other than 443 is named. By default the vendors' own.",
      )
      .refine(hosts => hosts.length > 0 && hosts.every(isHostEntry), {
        error: "must be hosts in lower case, as graph.microsoft.com, *.example.com or idp.example.com:8443",
      })
      .prefault(vendorHosts.join(",")),
    IDPA_FIDO_API_CLIENT_ID: setting.text("Kind B: application that calls Microsoft Graph.").optional(),
    IDPA_FIDO_API_VERSION: setting
      .oneOf(["beta", "v1.0"], "Kind B: version of Microsoft Graph; shipped keys need `beta`.")
      .prefault("beta"),
    IDPA_FIDO_API_CHALLENGE_TIMEOUT_MINUTES: setting
      .integer(5, 43_200, "Kind B: how long a challenge is valid.")
      .prefault("20160"),
    IDPA_MANAGED_IDENTITY: setting
      .flag("Kind B: call Microsoft Graph as the app's managed identity, without application and secret.")
      .prefault("false"),
    IDPA_TENANT_ID: setting.text("Kind B: tenant; by default `CLOUD_TENANT_ID`.").optional(),
    IDPA_GRAPH_ENDPOINT: setting.address("Kind B: Microsoft Graph.").prefault("https://graph.microsoft.com"),
    IDPA_ONLINE_ENDPOINT: setting.address("Kind B: token authority.").prefault("https://login.microsoftonline.com"),
    IDPA_DEFAULT_RELYING_PARTY: setting
      .text("Kind B: relying party of the tenant's passkeys; a request that names another is refused.")
      .prefault("login.microsoft.com"),
    IDPB_ENVIRONMENT: setting.text("Kind A: environment of PingOne.").optional(),
    IDPB_DEFAULT_RELYING_PARTY: setting.text("Kind A: relying party that keys are registered for.").optional(),
    IDPB_AUTH_BASE_URL: setting.address("Kind A: token authority.").optional(),
    IDPB_CLIENT_ID: setting.text("Kind A: worker application.").optional(),
    IDPB_API_BASE_URL: setting.address("Kind A: PingOne's API, with or without `/v1`.").optional(),
    IDPB_PRE_REGISTRATION_TIMEOUT_DAYS: setting
      .integer(1, 365, "Kind A: how long a challenge is valid; unset assumes no end.")
      .optional(),
    IDPB_POLICY_ID: setting
      .text(
        "Kind A: device authentication policy that new keys are bound to; unset, the environment's default applies.",
      )
      .optional(),
    IDPC_API_BASE_URL: setting.address("Kind C: the tenant, or its AM elsewhere than at `/am`.").optional(),
    IDPC_AUTH_BASE_URL: setting.address("Kind C: token authority, in the same form.").optional(),
    IDPC_REALM: setting.text("Kind C: realm of users and journey.").optional(),
    IDPC_JOURNEY: setting.text("Kind C: journey that registers a key.").optional(),
    IDPC_CLIENT_ID: setting.text("Kind C: application that the journey lets in.").optional(),
    IDPC_DEFAULT_RELYING_PARTY: setting
      .text("Kind C: relying party of the journey's WebAuthn node; by default the host of `IDPC_API_BASE_URL`.")
      .optional(),
    IDPC_SCOPE: setting.text("Kind C: scope of its access tokens.").optional(),
    IDPC_AUTHENTICATION_HEADER: setting
      .text("Kind C: header in which the journey looks for the access token.")
      .prefault("Authorization"),
    IDPC_CALLBACK_1: setting.text("Kind C: callback that takes the user id.").prefault("NameCallback"),
    IDPC_CALLBACK_2: setting
      .text("Kind C: callback that has the creation options; `TextOutputCallback` for a script.")
      .prefault("MetadataCallback"),
    IDPC_CALLBACK_3: setting.text("Kind C: callback that takes the new credential.").prefault("HiddenValueCallback"),
    IDPC_TOKEN_ID_1: setting.text("Kind C: input of the user id.").prefault("IDToken1"),
    IDPC_TOKEN_ID_2: setting.text("Kind C: input of the new credential.").prefault("IDToken2"),
    IDPC_CHALLENGE_TIMEOUT_MILLISECONDS: setting
      .integer(1000, 31_536_000_000, "Kind C: how long a challenge is valid, where the journey does not end before.")
      .optional(),

    RESEND_PIN_PER_HOUR: setting
      .integer(1, 1000, "How often one key's PIN may be resent within an hour (decision C1).")
      .prefault("5"),
    LEASE_SECONDS: setting.seconds("How long a claimed item is held (decision C15).").prefault("180"),
    IDP_TIMEOUT_SECONDS: setting.seconds("Time limit of one call to an IdP.").prefault("30"),
    DELIVERY_TIMEOUT_SECONDS: setting.seconds("Time limit of one call to the delivery service.").prefault("60"),
    ENROLLMENT_TIMEOUT_SECONDS: setting.seconds("Time limit of one call to an enrollment service.").prefault("30"),
    MAIL_TIMEOUT_SECONDS: setting.seconds("Time limit of one call to the mail service.").prefault("30"),
    CREATE_TIMEOUT_SECONDS: setting.seconds("Time limit of a create (decision C6).").prefault("150"),
    ORDER_INTENT_MAX_AGE_SECONDS: setting
      .seconds("Maximum age of an order intent at which the delivery service is still called (decision C6).")
      .prefault("10"),
    RECEIVED_MAX_AGE_SECONDS: setting
      .seconds("Age at which a request without an order intent is compensated and ends failed (decision C6).")
      .prefault("300"),
    RECONCILE_AFTER_SECONDS: setting
      .seconds("Age of an order intent at which an unanswered order is reconciled (decision C6).")
      .prefault("900"),
    RECONCILE_DAYS: setting.days("How long an unanswered order is reconciled (decision C6).").prefault("3"),
    POLL_AFTER_SECONDS: setting
      .seconds("First poll of a shipment after it was accepted (decision C10).")
      .prefault("3600"),
    POLL_MAX_SECONDS: setting.seconds("Longest time between two polls of a shipment (decision C10).").prefault("21600"),
    ENROLLMENT_POLL_AFTER_SECONDS: setting
      .seconds("First poll of an authenticator after its request was taken (decision C15).")
      .prefault("300"),
    ENROLLMENT_POLL_MAX_SECONDS: setting
      .seconds("Longest time between two polls of an authenticator (decision C15).")
      .prefault("3600"),
    SHIPMENT_MISSING_SECONDS: setting
      .seconds("How long a shipment must be unknown to count as cancelled (decision C10).")
      .prefault("86400"),
    RETRY_MIN_SECONDS: setting.seconds("First back-off of an activation or a mail (decision C8).").prefault("60"),
    RETRY_MAX_SECONDS: setting.seconds("Longest back-off of an activation or a mail (decision C8).").prefault("21600"),
    READ_BACK_AFTER_SECONDS: setting
      .seconds("Least time between a refusal and its second read-back (decision C8).")
      .prefault("60"),
    MAIL_RUNNING_SECONDS: setting
      .seconds("When a mail that is still under way is looked up again (decision C14).")
      .prefault("60"),
    CREDENTIAL_MAX_DAYS: setting
      .days("Age at which a credential without challenge expiry counts as expired (decision C8).")
      .prefault("180"),
    DUE_STALE_SECONDS: setting
      .seconds("Age at which an index row that points to nothing due is removed (decision C15).")
      .prefault("600"),
    DUE_ORPHAN_SECONDS: setting
      .seconds("Age at which an index row that points to no row is removed (decision C15).")
      .prefault("3600"),
    IDEMPOTENCY_RUNNING_SECONDS: setting
      .seconds("Age at which a call with an Idempotency-Key that left no answer is taken for dead (decision C6).")
      .prefault("300"),
    IDEMPOTENCY_DAYS: setting.days("How long an Idempotency-Key is kept (decision C6).").prefault("7"),
    JOB_ON_DEMAND_SECONDS: setting.seconds("Time budget of a job started by a call (decision C15).").prefault("100"),
    JOB_TIMER_SECONDS: setting.seconds("Time budget of a job started by its timer (decision C15).").prefault("420"),
    JOB_CONCURRENCY: setting.integer(1, 100, "Requests that a job works on at once.").prefault("8"),
  })
  .superRefine((settings, context) => {
    const [rfpr, enrollment] = [settings.RFPR_API_BASE_URL, settings.ENROLLMENT_SERVICE_API_BASE_URL];
    if ((rfpr === undefined) !== (enrollment === undefined)) {
      const [missing, other] =
        rfpr === undefined
          ? ["RFPR_API_BASE_URL", "ENROLLMENT_SERVICE_API_BASE_URL"]
          : ["ENROLLMENT_SERVICE_API_BASE_URL", "RFPR_API_BASE_URL"];
      const message = `is required where ${other} is set: on-site enrollment takes both (decision C12)`;
      context.addIssue({ code: "custom", path: [missing], message });
    }
    // A comparison with a setting that could not be parsed is false; that setting is reported on its own.
    const refuseWhere = (wrong: boolean, name: keyof typeof settings, message: string) => {
      if (wrong) context.addIssue({ code: "custom", path: [name], message });
    };
    for (const name of timeLimits) {
      const message = "must be shorter than LEASE_SECONDS: a lease outlasts every call (decision C15)";
      refuseWhere(settings[name] >= settings.LEASE_SECONDS, name, message);
    }
    const lastAnswerMs = seconds(settings.ORDER_INTENT_MAX_AGE_SECONDS) + seconds(settings.DELIVERY_TIMEOUT_SECONDS);
    refuseWhere(
      seconds(settings.RECONCILE_AFTER_SECONDS) < lastAnswerMs,
      "RECONCILE_AFTER_SECONDS",
      "must be at least ORDER_INTENT_MAX_AGE_SECONDS and DELIVERY_TIMEOUT_SECONDS together: a running call is not reconciled (decision C6)",
    );
    refuseWhere(
      settings.RECEIVED_MAX_AGE_SECONDS <= settings.CREATE_TIMEOUT_SECONDS,
      "RECEIVED_MAX_AGE_SECONDS",
      "must be longer than CREATE_TIMEOUT_SECONDS: a running create is not compensated (decision C6)",
    );
  });

export type ConnectorSettings = z.output<typeof connectorSettings>;
