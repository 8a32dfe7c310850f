import type { Problem } from "../platform/fault.ts";
import { version } from "../platform/settings/deployment-settings.ts";
import { type SettingValues, settingsSchema } from "../platform/settings/read-settings.ts";
import { isAddress, setting } from "../platform/settings/setting.ts";
import { days, hours, seconds } from "../platform/time.ts";
import { eventSettings } from "./event-settings.ts";
import { idpIdReason, isIdpId } from "./idp/kind.ts";
import { idpKinds, idpVariableSettings } from "./idp/kinds.ts";
import { isHostEntry, vendorHosts } from "./idp/secret-hosts.ts";
import { fixedIntervals, type Intervals } from "./model/intervals.ts";
import { lossActions } from "./model/shipment.ts";

/** The languages of PIN emails, as BCP 47 tags. */
export const pinMailLanguages = ["en", "de"] as const;

const hourly = "0 0 * * * *";

/** Returns the schema of a text that PIN emails contain. */
const mailText = (description: string) =>
  setting
    .text(description)
    .refine(
      text => /^[^\p{Cc}\p{Cf}\p{Zl}\p{Zp}]{1,200}$/u.test(text),
      "must be one line of 1 to 200 characters without control characters",
    );

/** Whether the SDK of the mail service accepts the connection string: its own error would not name the setting. */
const isMailConnection = (text: string): boolean =>
  isAddress(/^endpoint=([^;]+);accesskey=[^;]+$/i.exec(text)?.[1] ?? "");

/** The settings of the connector. */
export const connectorSettings = settingsSchema(
  {
    FIDO_CONNECTOR_VERSION: setting
      .text(
        "Version in the status; by default the package's. Set it if callers of the status expect a version of yours.",
      )
      .withDefault(version),
    CLOUD_TABLES_SHIPMENTS_TABLE_NAME: setting
      .text(
        "Name of the table of shipments. Set it before the first deployment only, if your rules name tables: after a change, shipments of the former table have no link to their requests: version 1 answers 404 for them, and a look-up may give one to another request.",
      )
      .refine(
        text => /^[A-Za-z][A-Za-z0-9]{2,62}$/.test(text),
        "must be a table name: 3 to 63 letters and digits, a letter first",
      )
      .withDefault("fprshipments"),
    CRON_PROCESS_SHIPMENT_SCHEDULE: setting
      .schedule(
        "When shipments are polled: six fields, UTC. Set it to run more often if users must get their PINs sooner.",
      )
      .withDefault(hourly),
    CRON_PROCESS_CREDENTIAL_REQUESTS_SCHEDULE: setting
      .schedule(
        "When credentials are activated and PIN emails are sent: six fields, UTC. Set it to run more often if users must get their PINs sooner.",
      )
      .withDefault(hourly),
    CRON_DATA_CLEANUP_SCHEDULE: setting
      .schedule("When old requests are deleted: six fields, UTC. Set it to avoid busy hours.")
      .withDefault("0 30 * * * *"),
    CRON_DATA_CLEANUP_COMPLETED_DAYS: setting
      .integer(
        0,
        36_500,
        "Age in days at which ended requests are deleted; 0 keeps them. Set it to the retention period of your privacy rules.",
      )
      .withDefault("0"),
    REGISTER_KEEP_DAYS: setting
      .integer(
        0,
        36_500,
        "Age in days at which the security keys of ended requests are deleted from the register, counted from the end of the request; 0 keeps none after the clean-up of the request. By default 5 years, the life of a key. Set it to the retention period of your asset register.",
      )
      .withDefault("1825"),

    EMAIL_API_SEND_ENDPOINT: setting.address("Address of the mail service."),
    EMAIL_SENDER_ADDRESS: setting.text("Sender address of PIN emails."),
    EMAIL_CONNECTION_STRING: setting
      .text("Connection string of the mail service. Set it for local runs only.")
      .refine(isMailConnection, "must be endpoint=<https address>;accesskey=<key>")
      .optional(),
    PIN_MAIL_DOMAINS: setting
      .list(
        "Comma-separated list of domains to which PIN emails may be sent; empty allows any. Checked at create and before each send. Set it to your own domains, so that no PIN leaves your organization.",
      )
      .refine(
        domains => domains.every(domain => /^[^\s:/@]+$/.test(domain)),
        "must be domains such as example.com, without a scheme and without @",
      )
      .withDefault(""),
    PIN_MAIL_LANGUAGE: setting
      .oneOf(pinMailLanguages, "Language of PIN emails. Set it to that of the people who hand out the keys.")
      .withDefault("en"),
    PIN_MAIL_ORGANIZATION: mailText(
      "Organization that PIN emails name as the one that prepared the key. Set it so that recipients know who writes.",
    ).optional(),
    PIN_MAIL_SUPPORT_CONTACT: mailText(
      "Contact for questions that PIN emails name: email address, telephone or URL. Set it to your help desk.",
    ).optional(),
    PIN_MAIL_SIGN_IN_URL: setting
      .address("URL at which users sign in, as PIN emails show it. Set it if all users sign in at one page.")
      .optional(),

    ...eventSettings,

    DELIVERY_API_BASE_URL: setting.address("Base URL of the delivery service."),
    DELIVERY_PRODUCTION_DAYS: setting
      .days(
        "How long the delivery service may take to program ordered security keys. A shipment is refused if a challenge ends before the first poll (`POLL_AFTER_SECONDS`) and these days. By default a weekend: orders are processed on business days. Set it higher if your deliveries are produced later.",
      )
      .withDefault("3"),
    ON_LOSS: setting
      .oneOf(
        lossActions,
        "What is done when the delivery service reports a shipment as lost, beside the alert and the event: `report` does nothing else, `revoke` revokes the active credentials of its keys. Set it to `revoke` if nobody is there to do it at once.",
      )
      .withDefault("report"),
    DELIVERY_JWKS_SIGN_ENDPOINT: setting.address("JWKS of the delivery service with its signing keys."),
    DELIVERY_JWKS_TRANSPORT_ENDPOINT: setting.address(
      "JWKS of the delivery service with the keys to which requests are encrypted.",
    ),
    RFPR_API_BASE_URL: setting
      .address("Base URL of the pre-registration API. Set it if keys are enrolled on site.")
      .optional(),
    RFPR_RETRY_NUMBER_DAYS: setting
      .period(
        "How long a failing activation, revocation or PIN email is retried. Set it higher if an outage of an IdP or of the mail service may last longer.",
      )
      .withDefault("14"),
    ENROLLMENT_SERVICE_API_BASE_URL: setting
      .address("Base URL of the enrollment service. Set it if keys are enrolled on site.")
      .optional(),

    IDP_DEFAULT: setting
      .text("IdP of credentials that name none. Set it to the id of the IdP that most requests are for.")
      .refine(isIdpId, idpIdReason)
      .withDefault(idpKinds[0].type),
    IDP_ENABLE_MULTI_IDP: setting
      .flag(
        "Read several IdPs from `IDP_CONFIGURATION_PATH`; the settings of single kinds below are then ignored. Set it to true for several IdPs, or for one of kind C.",
      )
      .withDefault("false"),
    IDP_CONFIGURATION_PATH: setting
      .text(
        "YAML file of IdPs: a path, or the address of a blob under `CLOUD_STORAGE_BLOB_ENDPOINT`. Set it together with `IDP_ENABLE_MULTI_IDP`.",
      )
      .optional(),
    IDP_SECRET_HOSTS: setting
      .list(
        "Comma-separated list of hosts to which client secrets, assertions and access tokens of IdPs may be sent. `*.` at the front is a wildcard for one label; a port other than 443 is part of the entry. Set it if an IdP has a host that is not one of its vendor's.",
      )
      .refine(
        hosts => hosts.length > 0 && hosts.every(isHostEntry),
        "must be hosts in lower case, as graph.microsoft.com, *.example.com or idp.example.com:8443",
      )
      .withDefault(vendorHosts.join(",")),
    ...idpVariableSettings,

    PIN_MIN_LENGTH: setting
      .integer(
        4,
        63,
        "Shortest PIN that a request may ask for, in characters; a shorter one is refused. Set it higher if your policy, or the model of your security keys, requires longer PINs.",
      )
      .withDefault("4"),
    POLL_AFTER_SECONDS: setting
      .seconds(
        "Time from the acceptance of a shipment to its first poll. Set it lower if your delivery service programs security keys within the hour.",
      )
      .withDefault("3600"),
  },
  settings => {
    const problems: Problem[] = [];
    const [rfpr, enrollment] = ["RFPR_API_BASE_URL", "ENROLLMENT_SERVICE_API_BASE_URL"] as const;
    for (const [path, other] of [
      [rfpr, enrollment],
      [enrollment, rfpr],
    ] as const)
      if (settings[path] === undefined && other in settings)
        problems.push({ path, reason: `is required if ${other} is set: on-site enrollment needs both` });
    const { EVENT_SINK_TYPES: types = [], EVENT_SINK_URLS: urls } = settings;
    if (urls !== undefined && types.length > urls.length)
      problems.push({
        path: "EVENT_SINK_TYPES",
        reason: "must have at most one entry for each URL of EVENT_SINK_URLS",
      });
    return problems;
  },
);

export type ConnectorSettings = SettingValues<(typeof connectorSettings)["shape"]>;

/** @param limits replaces fixed intervals, for tests */
export function toIntervals(settings: ConnectorSettings, limits: object = {}): Intervals {
  const fixed = { ...fixedIntervals, ...limits };
  const pollAfterMs = seconds(settings.POLL_AFTER_SECONDS);
  return {
    ...fixed,
    shipmentPoll: { minMs: pollAfterMs, maxMs: Math.max(pollAfterMs, fixed.shipmentPollMaxMs) },
    productionMs: days(settings.DELIVERY_PRODUCTION_DAYS),
    retryForMs: days(settings.RFPR_RETRY_NUMBER_DAYS),
    registerMs: days(settings.REGISTER_KEEP_DAYS),
    eventRetry: { minMs: fixed.retry.minMs, maxMs: Math.min(fixed.retry.maxMs, hours(1)) },
    eventRetryForMs: hours(settings.EVENT_RETRY_HOURS),
  };
}
