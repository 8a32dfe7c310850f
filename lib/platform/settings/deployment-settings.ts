import * as z from "zod";
import { apiNames, pathProblems, pathSetting } from "./api-paths.ts";
import { isNcrontab, setting } from "./setting.ts";

/** The settings that every deployment reads, whichever APIs it serves. */
export const deploymentSettings = z
  .object({
    SERVICE_APIS: setting
      .list(
        "APIs that this deployment serves, comma-separated: `core`, `client`, `connector`. Empty serves none. Set it to what this app serves; `core` shares no app with the others in Azure.",
      )
      .refine(names => names.every(name => apiNames.some(api => api === name)), {
        error: `must contain only ${apiNames.join(", ")}`,
      })
      .transform(names => apiNames.filter(api => names.includes(api)))
      .prefault(""),
    CORE_PATH: pathSetting("Path prefix of the Core API. Set it if existing callers use another path.").prefault(
      "core",
    ),
    CLIENT_PATH: pathSetting("Path prefix of the Client API. Set it if existing callers use another path.").prefault(
      "client",
    ),
    CONNECTOR_PATH: pathSetting(
      "Path prefix of the connector API. Set it if existing callers use another path.",
    ).prefault(""),
    PUBLIC_BASE_URL: setting
      .address(
        "Base URL of absolute links in responses; by default the origin of the request. Set it if callers reach the app through a proxy or under a name of your own.",
      )
      .optional(),
    TRUSTED_PROXIES: setting
      .integer(
        0,
        10,
        "Number of trusted proxies in front of the app, including the platform's own: the caller's address is that many entries from the end of `X-Forwarded-For`. Set it to 2 or more if proxies of your own are in front of the app; it then requires `PROXY_ID`.",
      )
      .prefault("1"),
    PROXY_ID: setting
      .text(
        "Value that the proxy in front of the app sends in `PROXY_ID_HEADER`. Set it if a proxy of your own is in front of the app: requests without it are then refused with 403, except `/health` and maintenance.",
      )
      .regex(/^[\x21-\x7e]{16,200}$/, { error: "must be 16 to 200 visible ASCII characters without spaces" })
      .optional(),
    PROXY_ID_HEADER: setting
      .text("Header in which the proxy sends `PROXY_ID`. Set it if the proxy is not Azure Front Door.")
      .regex(/^[A-Za-z0-9-]{1,64}$/, { error: "must be a header name" })
      .prefault("X-Azure-FDID"),
    LOGGING_LEVEL_COM_SERVICE: setting
      .oneOf(
        ["DEBUG", "INFO", "WARN", "ERROR"],
        "Minimum log level; no event is below `INFO`. Set it to `WARN` to save costs.",
      )
      .prefault("INFO"),

    CLOUD_TENANT_ID: setting
      .text("Id of the Entra tenant of the deployment. Set it if callers have tokens of this tenant.")
      .optional(),
    CALLER_AUDIENCES: setting
      .list(
        "Accepted audiences of tenant tokens, comma-separated; empty accepts no tenant token. Set it to the application that represents this API in the tenant.",
      )
      .prefault(""),
    CALLER_ISSUERS: setting
      .list(
        "Accepted issuers of tenant tokens, comma-separated; by default the v1.0 and v2.0 issuers of `CLOUD_TENANT_ID`. Set it if another system issues the tokens.",
      )
      .prefault(""),
    CALLER_JWKS_ENDPOINT: setting
      .address(
        "JWKS URL with the signing keys of tenant tokens; by default that of `CLOUD_TENANT_ID`. Set it together with `CALLER_ISSUERS`.",
      )
      .optional(),
    CALLER_STATIC_TOKENS: setting
      .flag(
        "Whether static API tokens are accepted; their hashes are stored in Key Vault. Set it to true if a caller cannot get tokens of the tenant.",
      )
      .prefault("false"),

    CLOUD_TABLES_ENDPOINT: setting.address("Table storage endpoint. Set it in Azure, as the template does.").optional(),
    CLOUD_STORAGE_BLOB_ENDPOINT: setting
      .address("Blob storage endpoint. Set it in Azure, as the template does.")
      .optional(),
    CLOUD_STORAGE_CONNECTION_STRING: setting
      .text(
        "Storage connection string with an account key. Set it for local runs only: in Azure the managed identity is used.",
      )
      .refine(hasAccountKey, { error: "must contain AccountName and AccountKey" })
      .optional(),
    CLOUD_KEY_VAULT_ENDPOINT: setting.address("Key Vault URL."),
    AZURE_CLIENT_ID: setting
      .text(
        "Client id of the user-assigned managed identity; by default the system-assigned one. Set it if the app has a user-assigned identity, as that of the template has.",
      )
      .optional(),

    CRON_BACKUP_SCHEDULE: setting
      .text(
        "Schedule of backups: six-field NCRONTAB in UTC, or `none` for backups on request only. Set it to avoid busy hours; an alert expects a backup every day.",
      )
      .transform(text => text.trim().split(/\s+/).join(" "))
      .refine(text => text === "none" || isNcrontab(text), {
        error: "must be none, or a cron expression of six fields, seconds first",
      })
      .prefault("0 45 1 * * *"),
    BACKUP_KEEP_DAYS: setting
      .integer(
        1,
        36_500,
        "Retention of backups in days; each backup deletes older ones. Set it higher if your rules demand it: deleted persons stay in backups for as long.",
      )
      .prefault("30"),
    BACKUP_STORAGE_ENDPOINT: setting
      .address(
        "Blob endpoint of a second storage account, to whose container `backups` every backup is copied. Set it to survive the loss of the first account. Each deployment needs an account of its own: the retention of one deletes the backups of another. The app's identity needs the role Storage Blob Data Contributor there.",
      )
      .optional(),
    APPLICATIONINSIGHTS_CONNECTION_STRING: setting
      .text(
        "Connection string of Application Insights, which receives spans, metrics and log events (docs/telemetry.md). Set it to see the app there, with its alerts.",
      )
      .regex(/(^|;)InstrumentationKey=[0-9a-f-]{36}(;|$)/i, { error: "must contain an InstrumentationKey" })
      .optional(),
    APPLICATIONINSIGHTS_AUTHENTICATION_STRING: setting
      .text(
        "Makes the app authenticate to Application Insights with its managed identity. Set it to `ClientId=<client id>;Authorization=AAD` if that resource accepts no keys.",
      )
      .regex(/(^|;)Authorization=AAD(;|$)/i, { error: "must contain Authorization=AAD" })
      .optional(),
    OTEL_EXPORTER_OTLP_ENDPOINT: setting
      .address(
        "OTLP/HTTP endpoint that receives spans, metrics and log events, without the signal path (`/v1/traces`). Set it if you use another system than Application Insights.",
      )
      .optional(),
  })
  .superRefine((settings, context) => {
    const refuse = (name: string, message: string) => context.addIssue({ code: "custom", path: [name], message });
    const isLocal = settings.CLOUD_STORAGE_CONNECTION_STRING !== undefined;
    for (const name of ["CLOUD_TABLES_ENDPOINT", "CLOUD_STORAGE_BLOB_ENDPOINT"] as const) {
      if (!isLocal && settings[name] === undefined)
        refuse(name, "must be set unless CLOUD_STORAGE_CONNECTION_STRING is set");
    }
    for (const { name, message } of pathProblems(settings)) refuse(name, message);
    if (settings.TRUSTED_PROXIES > 1 && settings.PROXY_ID === undefined) {
      refuse(
        "PROXY_ID",
        "must be set if TRUSTED_PROXIES is more than 1: otherwise a caller that bypasses the proxy could forge its address",
      );
    }
    const hasTenant = settings.CLOUD_TENANT_ID !== undefined;
    const hasIssuer = (settings.CALLER_ISSUERS ?? []).length > 0 && settings.CALLER_JWKS_ENDPOINT !== undefined;
    if ((settings.CALLER_AUDIENCES ?? []).length > 0 && !hasTenant && !hasIssuer) {
      refuse("CALLER_AUDIENCES", "requires CLOUD_TENANT_ID, or CALLER_ISSUERS and CALLER_JWKS_ENDPOINT");
    }
  });

function hasAccountKey(connectionString: string): boolean {
  const parts = connectionString.split(";");
  const has = (name: string) => parts.some(part => part.startsWith(`${name}=`) && part !== `${name}=`);
  return /^UseDevelopmentStorage=true;?$/.test(connectionString) || (has("AccountName") && has("AccountKey"));
}

export type DeploymentSettings = z.output<typeof deploymentSettings>;

/** Returns whether the app runs in Azure, where it uses managed identity instead of a connection string. */
export const isInAzure = (settings: DeploymentSettings): boolean =>
  settings.CLOUD_STORAGE_CONNECTION_STRING === undefined;

/** The version of the package. A test compares it with package.json. */
export const version = "0.1.0";
