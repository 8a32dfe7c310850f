import type { Problem } from "../fault.ts";
import { apiNames, pathProblems, pathSetting } from "./api-paths.ts";
import { type SettingValues, settingsSchema } from "./read-settings.ts";
import { isNcrontab, setting, withSingleBlanks } from "./setting.ts";

const shape = {
  SERVICE_APIS: setting
    .list(
      "APIs that this deployment serves, comma-separated: `core`, `client`, `connector`. Empty serves none. Set it to what this app serves; `core` shares no app with the others in Azure.",
    )
    .refine(
      names => names.every(name => apiNames.some(api => api === name)),
      `must contain only ${apiNames.join(", ")}`,
    )
    .transform(names => apiNames.filter(api => names.includes(api)))
    .withDefault(""),
  CORE_PATH: pathSetting("Path prefix of the Core API. Set it if existing callers use another path.").withDefault(
    "core",
  ),
  CLIENT_PATH: pathSetting("Path prefix of the Client API. Set it if existing callers use another path.").withDefault(
    "client",
  ),
  CONNECTOR_PATH: pathSetting(
    "Path prefix of the connector API. Set it if existing callers use another path.",
  ).withDefault(""),
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
    .withDefault("1"),
  PROXY_ID: setting
    .text(
      "Value that the proxy in front of the app sends in `PROXY_ID_HEADER`. Set it if a proxy of your own is in front of the app: requests without it are then refused with 403, except `/health` and maintenance.",
    )
    .refine(text => /^[\x21-\x7e]{16,200}$/.test(text), "must be 16 to 200 visible ASCII characters without spaces")
    .optional(),
  PROXY_ID_HEADER: setting
    .text("Header in which the proxy sends `PROXY_ID`. Set it if the proxy is not Azure Front Door.")
    .refine(text => /^[A-Za-z0-9-]{1,64}$/.test(text), "must be a header name")
    .withDefault("X-Azure-FDID"),
  LOGGING_LEVEL_COM_SERVICE: setting
    .oneOf(
      ["DEBUG", "INFO", "WARN", "ERROR"],
      "Minimum log level; no event is below `INFO`. Set it to `WARN` to save costs.",
    )
    .withDefault("INFO"),

  CLOUD_TENANT_ID: setting
    .text("Id of the Entra tenant of the deployment. Set it if callers have tokens of this tenant.")
    .optional(),
  CALLER_AUDIENCES: setting
    .list(
      "Accepted audiences of tenant tokens, comma-separated; empty accepts no tenant token. Set it to the application that represents this API in the tenant.",
    )
    .withDefault(""),
  CALLER_ISSUERS: setting
    .list(
      "Accepted issuers of tenant tokens, comma-separated; by default the v1.0 and v2.0 issuers of `CLOUD_TENANT_ID`. Set it if another system issues the tokens.",
    )
    .withDefault(""),
  CALLER_JWKS_ENDPOINT: setting
    .address(
      "JWKS URL with the signing keys of tenant tokens; by default that of `CLOUD_TENANT_ID`. Set it together with `CALLER_ISSUERS`.",
    )
    .optional(),
  CALLER_STATIC_TOKENS: setting
    .flag(
      "Whether static API tokens are accepted; their hashes are stored in Key Vault. Set it to true if a caller cannot get tokens of the tenant.",
    )
    .withDefault("false"),

  CLOUD_TABLES_ENDPOINT: setting.address("Table storage endpoint. Set it in Azure, as the template does.").optional(),
  CLOUD_STORAGE_BLOB_ENDPOINT: setting
    .address("Blob storage endpoint. Set it in Azure, as the template does.")
    .optional(),
  CLOUD_STORAGE_CONNECTION_STRING: setting
    .text(
      "Storage connection string with an account key. Set it for local runs only: in Azure the managed identity is used.",
    )
    .refine(hasAccountKey, "must contain AccountName and AccountKey")
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
    .transform(withSingleBlanks)
    .refine(
      text => text === "none" || isNcrontab(text),
      "must be none, or a cron expression of six fields, seconds first",
    )
    .withDefault("0 45 1 * * *"),
  BACKUP_KEEP_DAYS: setting
    .integer(
      1,
      36_500,
      "Retention of backups in days; each backup deletes older ones. Set it higher if your rules demand it: deleted persons stay in backups for as long.",
    )
    .withDefault("30"),
  BACKUP_STORAGE_ENDPOINT: setting
    .address(
      "Blob endpoint of a second storage account, to whose container `backups` every backup is copied. Set it to survive the loss of the first account. Each deployment needs an account of its own: the retention of one deletes the backups of another. The app's identity needs the role Storage Blob Data Contributor there.",
    )
    .optional(),
  APPLICATIONINSIGHTS_CONNECTION_STRING: setting
    .text(
      "Connection string of Application Insights, which receives spans, metrics and log events (docs/telemetry.md). Set it to see the app there, with its alerts.",
    )
    .refine(text => /(^|;)InstrumentationKey=[0-9a-f-]{36}(;|$)/i.test(text), "must contain an InstrumentationKey")
    .optional(),
  APPLICATIONINSIGHTS_AUTHENTICATION_STRING: setting
    .text(
      "Makes the app authenticate to Application Insights with its managed identity. Set it to `ClientId=<client id>;Authorization=AAD` if that resource accepts no keys.",
    )
    .refine(text => /(^|;)Authorization=AAD(;|$)/i.test(text), "must contain Authorization=AAD")
    .optional(),
  OTEL_EXPORTER_OTLP_ENDPOINT: setting
    .address(
      "OTLP/HTTP endpoint that receives spans, metrics and log events, without the signal path (`/v1/traces`). Set it if you use another system than Application Insights.",
    )
    .optional(),
};

export type DeploymentSettings = SettingValues<typeof shape>;

/** The settings that every deployment reads, whichever APIs it serves. */
export const deploymentSettings = settingsSchema(shape, settings => {
  const isLocal = "CLOUD_STORAGE_CONNECTION_STRING" in settings;
  const { CALLER_AUDIENCES: audiences = [], CALLER_ISSUERS: issuers = [], TRUSTED_PROXIES: proxies = 0 } = settings;
  const canVerify = "CLOUD_TENANT_ID" in settings || (issuers.length > 0 && "CALLER_JWKS_ENDPOINT" in settings);
  const problems: Problem[] = [...pathProblems(settings)];
  for (const name of ["CLOUD_TABLES_ENDPOINT", "CLOUD_STORAGE_BLOB_ENDPOINT"] as const) {
    const reason = "must be set unless CLOUD_STORAGE_CONNECTION_STRING is set";
    if (!isLocal && settings[name] === undefined) problems.push({ path: name, reason });
  }
  if (proxies > 1 && settings.PROXY_ID === undefined) {
    const reason =
      "must be set if TRUSTED_PROXIES is more than 1: otherwise a caller that bypasses the proxy could forge its address";
    problems.push({ path: "PROXY_ID", reason });
  }
  if (audiences.length > 0 && !canVerify) {
    const reason = "requires CLOUD_TENANT_ID, or CALLER_ISSUERS and CALLER_JWKS_ENDPOINT";
    problems.push({ path: "CALLER_AUDIENCES", reason });
  }
  return problems;
});

function hasAccountKey(connectionString: string): boolean {
  const parts = connectionString.split(";");
  const has = (name: string) => parts.some(part => part.startsWith(`${name}=`) && part !== `${name}=`);
  return /^UseDevelopmentStorage=true;?$/.test(connectionString) || (has("AccountName") && has("AccountKey"));
}

/** Returns whether the app runs in Azure, where it uses managed identity instead of a connection string. */
export const isInAzure = (settings: DeploymentSettings): boolean =>
  settings.CLOUD_STORAGE_CONNECTION_STRING === undefined;

/** The version of the package. A test compares it with package.json. */
export const version = "0.1.0";
