import { readFileSync } from "node:fs";
import * as z from "zod";
import { type ApiName, enabledApis } from "../../lib/platform/settings/api-paths.ts";
import type { Environment } from "../../lib/platform/settings/read-settings.ts";

/** What Azure or the template computes, so that an administrator cannot set it: only that it is set counts. */
export const placeholders: Readonly<Record<string, string>> = {
  AZURE_CLIENT_ID: "00000000-0000-4000-8000-000000000000",
  CLOUD_TENANT_ID: "00000000-0000-4000-8000-000000000000",
  CLOUD_STORAGE_BLOB_ENDPOINT: "https://storage.blob.core.windows.net/",
  CLOUD_TABLES_ENDPOINT: "https://storage.table.core.windows.net/",
  CLOUD_KEY_VAULT_ENDPOINT: "https://vault.vault.azure.net/",
  EMAIL_API_SEND_ENDPOINT: "https://mail.europe.communication.azure.com",
  EMAIL_SENDER_ADDRESS: "donotreply@keys.example.com",
};

const texts = z.record(z.string(), z.string());
const groups = z.object({ everyApp: texts, auth: texts, connector: texts });
const code = z.object({ settings: groups });
const given = z.object({ parameters: z.object({ settings: z.object({ value: groups }) }) });

/** Variables that the template gives one app as a setting with another name, by app and setting. */
export const ownVariables: Readonly<Record<ApiName, Readonly<Record<string, string>>>> = {
  core: { PUBLIC_BASE_URL: "CORE_PUBLIC_BASE_URL" },
  client: { PUBLIC_BASE_URL: "CLIENT_PUBLIC_BASE_URL", PROXY_ID: "CLIENT_PROXY_ID" },
  connector: { PUBLIC_BASE_URL: "CONNECTOR_PUBLIC_BASE_URL", PROXY_ID: "CONNECTOR_PROXY_ID" },
};

/**
 * Returns the settings that each app gets from the variables of an azd environment, as `infra/main.bicep` computes them
 * (a test compares the two). The working directory is the project's.
 */
export function appEnvironments(azd: Environment): Readonly<Record<ApiName, Environment>> {
  const { settings } = code.parse(JSON.parse(readFileSync("infra/code.json", "utf8")));
  const { parameters } = given.parse(JSON.parse(readFileSync("infra/main.parameters.json", "utf8")));
  const filled = (group: keyof typeof settings) => withoutEmpty(fill(parameters.settings.value[group], azd));
  const everyApp: Environment = { ...settings.everyApp, ...filled("everyApp") };
  const auth: Environment = { ...everyApp, ...settings.auth, ...filled("auth") };
  const connector: Environment = { ...everyApp, ...settings.connector, ...filled("connector") };
  const of = (api: ApiName, values: Environment): Environment => ({
    ...values,
    ...placeholders,
    ...fill(Object.fromEntries(Object.entries(ownVariables[api]).map(([name, from]) => [name, `\${${from}}`])), azd),
    ...(api === "connector" && storageOf(values)),
    SERVICE_APIS: api,
    TRUSTED_PROXIES: trustedProxies(api, azd, values.TRUSTED_PROXIES),
  });
  return { core: of("core", auth), client: of("client", auth), connector: of("connector", connector) };
}

/** Fills variables into texts as azd does, which takes the value for a part of a JSON text. */
function fill(values: Readonly<Record<string, string>>, azd: Environment): Readonly<Record<string, string>> {
  const entries = Object.entries(values).map(([name, text]) => [
    name,
    text.replace(/\$\{(\w+)\}/g, (_, variable: string) => unquoted(azd[variable] ?? "")),
  ]);
  return Object.fromEntries(entries);
}

/** Another hook reports a value that breaks the JSON text. */
function unquoted(value: string): string {
  try {
    return z.string().parse(JSON.parse(`"${value}"`));
  } catch {
    return value;
  }
}

const withoutEmpty = (values: Readonly<Record<string, string>>): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== ""));

/** The file of identity providers is a blob of this deployment; the hook before a provision computes the address if none is given. */
function storageOf({ IDP_ENABLE_MULTI_IDP, IDP_CONFIGURATION_PATH: path }: Environment): Environment {
  if (IDP_ENABLE_MULTI_IDP !== "true") return {};
  if (!path) return { IDP_CONFIGURATION_PATH: `${placeholders.CLOUD_STORAGE_BLOB_ENDPOINT}configuration/idps.yaml` };
  const own = /^https:\/\/stconn[a-z\d]+\.blob\.core\.windows\.net\//.exec(path);
  return own === null ? {} : { CLOUD_STORAGE_BLOB_ENDPOINT: own[0] };
}

/** An app behind a proxy trusts two proxies or more; an app that is called directly trusts the platform's own if the other app has one. */
function trustedProxies(api: ApiName, azd: Environment, given = "1"): string {
  const other = { core: undefined, client: "CONNECTOR_PROXY_ID", connector: "CLIENT_PROXY_ID" }[api];
  if (other === undefined) return "1";
  const own = ownVariables[api].PROXY_ID ?? "";
  if (azd[own]) return given === "1" ? "2" : given;
  return azd[other] ? "1" : given;
}

export const apis: readonly ApiName[] = enabledApis({ SERVICE_APIS: "core,client,connector" });
