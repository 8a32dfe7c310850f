import * as z from "zod";
import { isNcrontab } from "./ncrontab.ts";
import { type Environment, setting } from "./settings.ts";
import { trimEnd } from "./trim-end.ts";

const surfaces = ["core", "client", "connector"] as const;

export type ApiName = (typeof surfaces)[number];

/** The surfaces that an environment names, whatever else is wrong with it. */
export const namedApis = (environment: Environment): readonly ApiName[] => {
  const names = (environment.SERVICE_APIS ?? "").split(",").map(name => name.trim());
  return surfaces.filter(surface => names.includes(surface));
};

/** Leading segments of a surface's paths (decision G2). */
const path = (description: string) =>
  z
    .string()
    .transform(text => trimEnd(text.replace(/^\/+/, ""), "/"))
    .refine(text => /^[A-Za-z0-9._~-]*(\/[A-Za-z0-9._~-]+)*$/.test(text), {
      error: "must be path segments of letters, digits, . _ ~ -",
      abort: true,
    })
    .refine(text => !text.split("/").some(segment => segment === "." || segment === ".."), {
      error: "must not have . or .. as a segment: a URL removes it",
    })
    .refine(text => !/^(?:admin|runtime)/i.test(text), {
      error: "must not begin with admin or runtime: the Functions host serves no such routes",
    })
    .meta({ description });

/** What every deployment is told, whatever it serves (decisions G1 to G11). */
export const deploymentSettings = z
  .object({
    SERVICE_APIS: setting
      .list("Surfaces that this deployment serves: `core`, `client`, `connector`. Empty serves none.")
      .refine(names => names.every(name => surfaces.some(surface => surface === name)), {
        error: `must name ${surfaces.join(", ")} only`,
      })
      .transform(names => surfaces.filter(surface => names.includes(surface)))
      .prefault(""),
    CORE_PATH: path("Leading path segments of the Core API.").prefault("core"),
    CLIENT_PATH: path("Leading path segments of the Client API.").prefault("client"),
    CONNECTOR_PATH: path("Leading path segments of the connector; empty by default.").prefault(""),
    PUBLIC_BASE_URL: setting.address("Front of every absolute address that an answer names.").optional(),
    TRUSTED_PROXIES: setting
      .integer(
        0,
        10,
        "How many proxies before the app are ours: the caller's address lies that many entries back in `X-Forwarded-For`. The platform's own is one; more need `PROXY_ID`.",
      )
      .prefault("1"),
    PROXY_ID: setting
      .text(
        "What the proxy before the app sends in `PROXY_ID_HEADER`; a call without it gets 403, except `/health` and maintenance.",
      )
      .regex(/^[\x21-\x7e]{16,200}$/, { error: "must be 16 to 200 visible ASCII characters without blanks" })
      .optional(),
    PROXY_ID_HEADER: setting
      .text("Header that proves that a call came through the proxy; by default that of Azure Front Door.")
      .regex(/^[A-Za-z0-9-]{1,64}$/, { error: "must be the name of a header" })
      .prefault("X-Azure-FDID"),
    LOGGING_LEVEL_COM_SERVICE: setting
      .oneOf(["DEBUG", "INFO", "WARN", "ERROR"], "Least level that is logged.")
      .prefault("INFO"),

    CLOUD_TENANT_ID: setting.text("The Entra tenant of the deployment.").optional(),
    CALLER_AUDIENCES: setting
      .list("Audiences of tenant tokens, comma list. Empty accepts no tenant token.")
      .prefault(""),
    CALLER_ISSUERS: setting
      .list("Issuers of tenant tokens, comma list. By default both forms of `CLOUD_TENANT_ID`.")
      .prefault(""),
    CALLER_JWKS_ENDPOINT: setting
      .address("Signing keys of tenant tokens. By default those of `CLOUD_TENANT_ID`.")
      .optional(),
    CALLER_STATIC_TOKENS: setting.flag("Accept static API tokens, whose hashes lie in the vault.").prefault("false"),

    CLOUD_TABLES_ENDPOINT: setting.address("Table storage.").optional(),
    CLOUD_STORAGE_BLOB_ENDPOINT: setting.address("Blob storage.").optional(),
    CLOUD_STORAGE_CONNECTION_STRING: setting
      .text("Storage by account key, for local runs only; in Azure the managed identity is used.")
      .refine(hasAccountKey, { error: "must have AccountName and AccountKey" })
      .optional(),
    CLOUD_KEY_VAULT_ENDPOINT: setting.address("Key Vault."),
    AZURE_CLIENT_ID: setting.text("Client id of the managed identity.").optional(),

    STORAGE_TIMEOUT_SECONDS: setting.seconds("Time limit of one storage call, retries included.").prefault("15"),
    SECRETS_MAX_AGE_SECONDS: setting.seconds("Age at which a secret is read again (decision G3).").prefault("300"),
    SECRETS_REFRESH_SECONDS: setting
      .seconds("Least time between two reads that an unknown token forces (decision G3).")
      .prefault("60"),
    CRON_BACKUP_SCHEDULE: setting
      .text(
        "When a backup is created; six fields, UTC. `none`: only on request. An alert expects a backup every two days.",
      )
      .transform(text => text.trim().split(/\s+/).join(" "))
      .refine(text => text === "none" || isNcrontab(text), {
        error: "must be none, or a cron expression of six fields, seconds first",
      })
      .prefault("0 45 1 * * *"),
    BACKUP_KEEP_DAYS: setting.days("How long backups are kept; the next backup removes older ones.").prefault("30"),
    APPLICATIONINSIGHTS_CONNECTION_STRING: setting
      .text("Application Insights, where spans, metrics and log events go (docs/telemetry.md).")
      .regex(/(^|;)InstrumentationKey=[0-9a-f-]{36}(;|$)/i, { error: "must have an InstrumentationKey" })
      .optional(),
    APPLICATIONINSIGHTS_AUTHENTICATION_STRING: setting
      .text("How Application Insights is written to by the managed identity: `ClientId=<client id>;Authorization=AAD`.")
      .regex(/(^|;)Authorization=AAD(;|$)/i, { error: "must have Authorization=AAD" })
      .optional(),
    OTEL_EXPORTER_OTLP_ENDPOINT: setting
      .address("An OTLP endpoint (HTTP), where spans, metrics and log events go; the paths of the signals are added.")
      .optional(),

    HEALTH_MAX_AGE_SECONDS: setting
      .seconds("How long an answer of storage and vault counts for `/health` (decision G11).")
      .prefault("10"),
  })
  .superRefine((settings, context) => {
    const refuse = (name: string, message: string) => context.addIssue({ code: "custom", path: [name], message });
    const local = settings.CLOUD_STORAGE_CONNECTION_STRING !== undefined;
    for (const name of ["CLOUD_TABLES_ENDPOINT", "CLOUD_STORAGE_BLOB_ENDPOINT"] as const) {
      if (!local && settings[name] === undefined)
        refuse(name, "must be set where storage is reached by managed identity");
    }
    for (const [name, other] of clashingPaths(settings)) refuse(name, `must lead elsewhere than ${other}`);
    if (settings.TRUSTED_PROXIES > 1 && settings.PROXY_ID === undefined) {
      refuse(
        "PROXY_ID",
        "must be set where TRUSTED_PROXIES is more than 1: a caller beside the proxy could choose the address that is limited and logged",
      );
    }
    const fromTenant = settings.CLOUD_TENANT_ID !== undefined;
    const named = (settings.CALLER_ISSUERS ?? []).length > 0 && settings.CALLER_JWKS_ENDPOINT !== undefined;
    if ((settings.CALLER_AUDIENCES ?? []).length > 0 && !fromTenant && !named) {
      refuse("CALLER_AUDIENCES", "needs CLOUD_TENANT_ID, or CALLER_ISSUERS and CALLER_JWKS_ENDPOINT");
    }
  });

function hasAccountKey(connectionString: string): boolean {
  const parts = connectionString.split(";");
  const isGiven = (name: string) => parts.some(part => part.startsWith(`${name}=`) && part !== `${name}=`);
  return /^UseDevelopmentStorage=true;?$/.test(connectionString) || (isGiven("AccountName") && isGiven("AccountKey"));
}

/** The served surfaces whose paths are equal, or of which one is below the other, as the later and the earlier name. */
function clashingPaths({ SERVICE_APIS = [], ...settings }: PathSettings): (readonly [string, string])[] {
  const paths = surfaces
    .filter(surface => SERVICE_APIS.includes(surface))
    .map(surface => ({ name: pathNames[surface], path: (settings[pathNames[surface]] ?? "").toLowerCase() }));
  const clash = (a: string, b: string) =>
    a === b || (a !== "" && b !== "" && (`${a}/`.startsWith(`${b}/`) || `${b}/`.startsWith(`${a}/`)));
  return paths.flatMap(({ name, path }, index) =>
    paths.slice(0, index).flatMap(earlier => (clash(path, earlier.path) ? [[name, earlier.name] as const] : [])),
  );
}

const pathNames = { core: "CORE_PATH", client: "CLIENT_PATH", connector: "CONNECTOR_PATH" } as const;

interface PathSettings {
  readonly SERVICE_APIS?: readonly ApiName[];
  readonly CORE_PATH?: string;
  readonly CLIENT_PATH?: string;
  readonly CONNECTOR_PATH?: string;
}

export type DeploymentSettings = z.output<typeof deploymentSettings>;

/** Returns how many proxies are ours, and what proves that a call came through them (decision G7). */
export const proxiesOf = ({ TRUSTED_PROXIES, PROXY_ID, PROXY_ID_HEADER }: DeploymentSettings) => ({
  trustedProxies: TRUSTED_PROXIES,
  ...(PROXY_ID !== undefined && { proxyProof: { header: PROXY_ID_HEADER, id: PROXY_ID } }),
});

/** Whether the app runs in Azure: there TLS ends before it, and storage is reached by managed identity. */
export const inAzure = (settings: DeploymentSettings): boolean =>
  settings.CLOUD_STORAGE_CONNECTION_STRING === undefined;
