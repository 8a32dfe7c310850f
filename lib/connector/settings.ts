import * as z from "zod";
import { isAddress, setting } from "../settings/setting.ts";
import { seconds } from "../time.ts";
import { version } from "../version.ts";
import { idpId } from "./idp/idp-id.ts";
import { idpKinds } from "./idp/kinds.ts";
import { isHostEntry, vendorHosts } from "./idp/secret-hosts.ts";
import { idpVariableSettings } from "./idp/variables.ts";
import { pinMailLanguages } from "./model/pin-mail.ts";

const hourly = "0 0 * * * *";

/** The time limits of calls. A lease must last longer than each of them (C15). */
const timeLimits = [
  "IDP_TIMEOUT_SECONDS",
  "DELIVERY_TIMEOUT_SECONDS",
  "ENROLLMENT_TIMEOUT_SECONDS",
  "MAIL_TIMEOUT_SECONDS",
  "EVENT_TIMEOUT_SECONDS",
] as const;

/** The maximum number of event sinks. Each change of a request writes one row for each sink. */
export const maxSinks = 5;

/**
 * The maximum time limit of a call to an event sink. The platform begins no run of a timer before the last one has
 * ended, so a run whose last call is longer would delay the events of the other sinks.
 */
const maxEventSeconds = 15;

/** The entry of `EVENT_SINK_URLS` that keeps the number of a sink that was removed. */
export const noSink = "none";

/** Returns the name of the secret by which events for a sink are signed. */
export const sinkSecretName = (number: number): string => `event-sink-${number}`;

/** Returns the schema of a text that PIN mails contain. */
const mailText = (description: string) =>
  setting.text(description).regex(/^[^\p{Cc}\p{Cf}\p{Zl}\p{Zp}]{1,200}$/u, {
    error: "must be one line of 1 to 200 characters without control characters",
  });

/** The settings of the connector. */
/** Whether the SDK of the mail service accepts the connection string: its own error would not name the setting. */
const isMailConnection = (text: string): boolean =>
  isAddress(/^endpoint=([^;]+);accesskey=[^;]+$/i.exec(text)?.[1] ?? "");

export const connectorSettings = z
  .object({
    FIDO_CONNECTOR_VERSION: setting.text("Version in the status; by default the package's.").prefault(version),
    CLOUD_TABLES_SHIPMENTS_TABLE_NAME: setting
      .text(
        "Name of the table of shipments. After a change, shipments of the former table have no link to their requests: version 1 answers 404 for them, and a look-up may give one to another request.",
      )
      .regex(/^[A-Za-z][A-Za-z0-9]{2,62}$/, {
        error: "must be a table name: 3 to 63 letters and digits, a letter first",
      })
      .prefault("fprshipments"),
    CRON_PROCESS_SHIPMENT_SCHEDULE: setting.schedule("When shipments are polled: six fields, UTC.").prefault(hourly),
    CRON_PROCESS_CREDENTIAL_REQUESTS_SCHEDULE: setting
      .schedule("When credentials are activated and PIN mails are sent: six fields, UTC.")
      .prefault(hourly),
    CRON_DATA_CLEANUP_SCHEDULE: setting
      .schedule("When old requests are deleted: six fields, UTC.")
      .prefault("0 30 * * * *"),
    CRON_DATA_CLEANUP_COMPLETED_DAYS: setting
      .integer(0, 36_500, "Age in days at which ended requests are deleted; 0 keeps them.")
      .prefault("0"),

    EMAIL_API_SEND_ENDPOINT: setting.address("Address of the mail service."),
    EMAIL_SENDER_ADDRESS: setting.text("Sender address of PIN mails."),
    EMAIL_CONNECTION_STRING: setting
      .text("Connection string of the mail service, for local runs only.")
      .refine(isMailConnection, { error: "must be endpoint=<https address>;accesskey=<key>" })
      .optional(),
    PIN_MAIL_DOMAINS: setting
      .list(
        "Comma-separated list of domains to which PIN mails may be sent; empty allows any. Checked at create and before each send.",
      )
      .prefault(""),
    PIN_MAIL_LANGUAGE: setting.oneOf(pinMailLanguages, "Language of PIN mails.").prefault("en"),
    PIN_MAIL_ORGANIZATION: mailText("Organization that PIN mails name as the one that prepared the key.").optional(),
    PIN_MAIL_SUPPORT_CONTACT: mailText(
      "Contact for questions that PIN mails name: mail address, telephone or URL.",
    ).optional(),
    PIN_MAIL_SIGN_IN_URL: setting.address("URL at which users sign in, as PIN mails show it.").optional(),

    EVENT_SINK_URLS: setting
      .list(
        "Comma-separated list of URLs to which events of requests are sent (docs/integrate.md). The position of a URL is the number of its sink: events for the first are signed with the secret `event-sink-1`. `none` keeps the position of a removed sink. Empty sends none.",
      )
      .refine(urls => urls.every(url => url === noSink || isAddress(url)), {
        error: "must be https addresses (http only on the loopback), without credentials, or none",
      })
      .refine(urls => urls.length <= maxSinks, { error: `must have at most ${maxSinks} entries` })
      .refine(urls => new Set(urls.filter(url => url !== noSink)).size === urls.filter(url => url !== noSink).length, {
        error: "must not have the same address twice",
      })
      .prefault(""),
    EVENT_SINK_ALLOW_PRIVATE: setting
      .flag("Whether event sinks may have private addresses. Link-local addresses are refused in any case.")
      .prefault("false"),
    EVENT_RETRY_HOURS: setting
      .integer(1, 720, "How long a failing delivery of an event is tried again, in hours. Then it is given up.")
      .prefault("72"),
    EVENT_TIMEOUT_SECONDS: setting
      .timeLimit("Time limit of one call to an event sink, at most 15.")
      .refine(limit => limit <= maxEventSeconds, {
        error: `must be at most ${maxEventSeconds}: a run of the event timer must end before the next one begins`,
      })
      .prefault("10"),
    CRON_EVENT_SCHEDULE: setting.schedule("When due events are sent: six fields, UTC.").prefault("0 * * * * *"),

    DELIVERY_API_BASE_URL: setting.address("Base URL of the delivery service."),
    DELIVERY_PRODUCTION_DAYS: setting
      .days(
        "How long the delivery service may take to program ordered security keys. A shipment is refused if a challenge ends before the first poll (`POLL_AFTER_SECONDS`) and these days. By default a weekend: orders are processed on business days.",
      )
      .prefault("3"),
    DELIVERY_JWKS_SIGN_ENDPOINT: setting.address("JWKS of the delivery service with its signing keys."),
    DELIVERY_JWKS_TRANSPORT_ENDPOINT: setting.address(
      "JWKS of the delivery service with the keys to which requests are encrypted.",
    ),
    RFPR_API_BASE_URL: setting.address("Base URL of the pre-registration API, for on-site enrollment.").optional(),
    RFPR_RETRY_NUMBER_DAYS: setting.period("How long a failing activation or PIN mail is retried.").prefault("14"),
    ENROLLMENT_SERVICE_API_BASE_URL: setting
      .address("Base URL of the enrollment service, for on-site enrollment.")
      .optional(),

    IDP_DEFAULT: idpId.meta({ description: "IdP of credentials that name none." }).prefault(idpKinds[0].type),
    IDP_ENABLE_MULTI_IDP: setting
      .flag("Read several IdPs from `IDP_CONFIGURATION_PATH`. The settings of single kinds below are then ignored.")
      .prefault("false"),
    IDP_CONFIGURATION_PATH: setting
      .text("YAML file of IdPs: a path, or the address of a blob under `CLOUD_STORAGE_BLOB_ENDPOINT`.")
      .optional(),
    IDP_CONFIGURATION_MAX_AGE_SECONDS: setting.seconds("Age at which that file is read again.").prefault("300"),
    IDP_CONFIGURATION_RETRY_SECONDS: setting.seconds("Wait after a failed read of that file.").prefault("30"),
    IDP_SECRET_HOSTS: setting
      .list(
        "Comma-separated list of hosts to which client secrets, assertions and access tokens of IdPs may be sent. `*.` at the front is a wildcard for one label; a port other than 443 is part of the entry. By default the vendors' own hosts.",
      )
      .refine(hosts => hosts.length > 0 && hosts.every(isHostEntry), {
        error: "must be hosts in lower case, as graph.microsoft.com, *.example.com or idp.example.com:8443",
      })
      .prefault(vendorHosts.join(",")),
    ...idpVariableSettings,

    RESEND_PIN_PER_HOUR: setting
      .integer(1, 1000, "How often the PIN of a security key may be resent within an hour.")
      .prefault("5"),
    LEASE_SECONDS: setting
      .seconds("Duration of a lease, the exclusive right of a job to work on a row.")
      .prefault("180"),
    IDP_TIMEOUT_SECONDS: setting.timeLimit("Time limit of one call to an IdP.").prefault("30"),
    DELIVERY_TIMEOUT_SECONDS: setting.timeLimit("Time limit of one call to the delivery service.").prefault("60"),
    ENROLLMENT_TIMEOUT_SECONDS: setting.timeLimit("Time limit of one call to the enrollment services.").prefault("30"),
    MAIL_TIMEOUT_SECONDS: setting.timeLimit("Time limit of one call to the mail service.").prefault("30"),
    CREATE_TIMEOUT_SECONDS: setting.timeLimit("Time limit of a create.").prefault("150"),
    ORDER_INTENT_MAX_AGE_SECONDS: setting
      .seconds("Maximum age of an order intent at which the delivery service is still called.")
      .prefault("10"),
    RECEIVED_MAX_AGE_SECONDS: setting
      .seconds("Age at which a request without an order intent is compensated and fails.")
      .prefault("300"),
    RECONCILE_AFTER_SECONDS: setting
      .seconds("Age of an order intent at which an unanswered order is reconciled.")
      .prefault("900"),
    RECONCILE_DAYS: setting.days("How long an unanswered order is reconciled.").prefault("3"),
    POLL_AFTER_SECONDS: setting.seconds("Time from the acceptance of a shipment to its first poll.").prefault("3600"),
    POLL_MAX_SECONDS: setting.seconds("Maximum time between two polls of a shipment.").prefault("21600"),
    ENROLLMENT_POLL_AFTER_SECONDS: setting
      .seconds("Time from the request of an authenticator to its first poll.")
      .prefault("300"),
    ENROLLMENT_POLL_MAX_SECONDS: setting
      .seconds("Maximum time between two polls of an authenticator.")
      .prefault("3600"),
    SHIPMENT_MISSING_SECONDS: setting
      .seconds("How long a shipment must be unknown to the delivery service to count as cancelled.")
      .prefault("86400"),
    RETRY_MIN_SECONDS: setting.seconds("First back-off of an activation or a mail.").prefault("60"),
    RETRY_MAX_SECONDS: setting.seconds("Maximum back-off of an activation or a mail.").prefault("21600"),
    READ_BACK_AFTER_SECONDS: setting
      .seconds("Minimum time between a refused activation and its second read-back.")
      .prefault("60"),
    MAIL_RUNNING_SECONDS: setting.seconds("Time between two queries of the status of a running mail.").prefault("60"),
    CREDENTIAL_MAX_DAYS: setting
      .period("Age at which a credential without challenge expiry counts as expired.")
      .prefault("180"),
    DUE_STALE_SECONDS: setting
      .seconds("Age at which an index row that points to nothing due is removed.")
      .prefault("600"),
    DUE_ORPHAN_SECONDS: setting.seconds("Age at which an index row that points to no row is removed.").prefault("3600"),
    IDEMPOTENCY_RUNNING_SECONDS: setting
      .seconds("Age at which a call with an Idempotency-Key and without a response counts as crashed.")
      .prefault("300"),
    IDEMPOTENCY_DAYS: setting.days("How long an Idempotency-Key is stored.").prefault("7"),
    JOB_ON_DEMAND_SECONDS: setting.timeLimit("Time budget of a job started by a call.").prefault("100"),
    JOB_TIMER_SECONDS: setting.timeLimit("Time budget of a job started by its timer.").prefault("420"),
    JOB_CONCURRENCY: setting
      .integer(
        1,
        100,
        "Highest number of requests that a job works on at once, and of calls that a peer gets from a job at once. Both start at 8 and adapt to the peer between 4 and this number.",
      )
      .prefault("64"),
  })
  .superRefine((settings, context) => {
    const [rfpr, enrollment] = [settings.RFPR_API_BASE_URL, settings.ENROLLMENT_SERVICE_API_BASE_URL];
    if ((rfpr === undefined) !== (enrollment === undefined)) {
      const [missing, other] =
        rfpr === undefined
          ? ["RFPR_API_BASE_URL", "ENROLLMENT_SERVICE_API_BASE_URL"]
          : ["ENROLLMENT_SERVICE_API_BASE_URL", "RFPR_API_BASE_URL"];
      const message = `is required if ${other} is set: on-site enrollment needs both`;
      context.addIssue({ code: "custom", path: [missing], message });
    }
    // A comparison with a setting that could not be parsed is false; that setting is reported on its own.
    const refuseIf = (wrong: boolean, name: keyof typeof settings, message: string) => {
      if (wrong) context.addIssue({ code: "custom", path: [name], message });
    };
    for (const name of timeLimits) {
      const message = "must be shorter than LEASE_SECONDS: a lease must outlast every call";
      refuseIf(settings[name] >= settings.LEASE_SECONDS, name, message);
    }
    const lastAnswerMs = seconds(settings.ORDER_INTENT_MAX_AGE_SECONDS) + seconds(settings.DELIVERY_TIMEOUT_SECONDS);
    refuseIf(
      seconds(settings.RECONCILE_AFTER_SECONDS) < lastAnswerMs,
      "RECONCILE_AFTER_SECONDS",
      "must be at least ORDER_INTENT_MAX_AGE_SECONDS and DELIVERY_TIMEOUT_SECONDS together: a running call must not be reconciled",
    );
    refuseIf(
      settings.RECEIVED_MAX_AGE_SECONDS <= settings.CREATE_TIMEOUT_SECONDS,
      "RECEIVED_MAX_AGE_SECONDS",
      "must be longer than CREATE_TIMEOUT_SECONDS: a running create must not be compensated",
    );
    refuseIf(
      settings.IDEMPOTENCY_RUNNING_SECONDS < settings.CREATE_TIMEOUT_SECONDS,
      "IDEMPOTENCY_RUNNING_SECONDS",
      "must be at least CREATE_TIMEOUT_SECONDS: a repeat must not order again while the first call may still order",
    );
    refuseIf(
      settings.IDEMPOTENCY_DAYS <= settings.RECONCILE_DAYS,
      "IDEMPOTENCY_DAYS",
      "must be more than RECONCILE_DAYS: a repeat must not order again what is being reconciled",
    );
  });

export type ConnectorSettings = z.output<typeof connectorSettings>;
