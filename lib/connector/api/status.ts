import type { IdpConfigurations, IdpSettings } from "../idp/kinds.ts";
import { type IdpVariable, idpVariables } from "../idp-variables.ts";

/** The version 2 status answer, name by name (specification section 2, decision C17). */
export const statusKeysV2 = [
  "CLOUD_STORAGE_BLOB_ENDPOINT",
  "CLOUD_TABLES_SHIPMENTS_TABLE_NAME",
  "CLOUD_TENANT_ID",
  "CRON_PROCESS_SHIPMENT_SCHEDULE",
  "CRON_PROCESS_CREDENTIAL_REQUESTS_SCHEDULE",
  "CRON_DATA_CLEANUP_SCHEDULE",
  "CRON_DATA_CLEANUP_COMPLETED_DAYS",
  "FIDO_CONNECTOR_VERSION",
  "LOGGING_LEVEL_COM_SERVICE",
  "EMAIL_API_SEND_ENDPOINT",
  "DELIVERY_API_BASE_URL",
  "DELIVERY_JWKS_SIGN_ENDPOINT",
  "DELIVERY_JWKS_TRANSPORT_ENDPOINT",
  "RFPR_API_BASE_URL",
  "RFPR_RETRY_NUMBER_DAYS",
  "ENROLLMENT_SERVICE_API_BASE_URL",
  "IDP_DEFAULT",
  "IDP_ENABLE_MULTI_IDP",
  "IDP_CONFIGURATION_PATH",
] as const;

/** The version 1 status answer: the common names (specification section 2, decision C17). */
const statusKeysV1 = [
  "CLOUD_KEY_VAULT_ENDPOINT",
  "CLOUD_TABLES_ENDPOINT",
  "CLOUD_TABLES_SHIPMENTS_TABLE_NAME",
  "CLOUD_TENANT_ID",
  "CRON_PROCESS_SHIPMENT_SCHEDULE",
  "CRON_DATA_CLEANUP_SCHEDULE",
  "CRON_DATA_CLEANUP_COMPLETED_DAYS",
  "EMAIL_API_SEND_ENDPOINT",
  "LOGGING_LEVEL_COM_SERVICE",
  "DELIVERY_API_BASE_URL",
  "DELIVERY_JWKS_SIGN_ENDPOINT",
  "DELIVERY_JWKS_TRANSPORT_ENDPOINT",
  "FIDO_CONNECTOR_VERSION",
] as const;

/** What an entry of `IDP_CONFIGURATIONS` has (specification section 2). */
const configurationKeys: Record<IdpSettings["type"], readonly string[]> = {
  pingone: [
    "default-relying-party",
    "api-base-url",
    "environment-id",
    "pre-registration-timeout-days",
    "type",
    "client-id",
    "auth-base-url",
  ],
  entra: [
    "api-version",
    "graph-endpoint",
    "type",
    "challenge-timeout-minutes",
    "client-id",
    "tenant-id",
    "online-endpoint",
  ],
  aic: [
    "journey",
    "challenge-timeout-milliseconds",
    "type",
    "api-base-url",
    "authentication-header",
    "token-id-1",
    "token-id-2",
    "scope",
    "realm",
    "client-id",
    "callback-1",
    "callback-2",
    "callback-3",
    "auth-base-url",
  ],
};

/** What version 1 has of the default IdP, by its kind: of kind C, of which the specification says nothing, all (decision C17). */
const statusKeysOfKind: Record<IdpSettings["type"], readonly IdpVariable[]> = {
  entra: ["IDPA_FIDO_API_CLIENT_ID", "IDPA_FIDO_API_VERSION", "IDPA_FIDO_API_CHALLENGE_TIMEOUT_MINUTES"],
  pingone: variablesOf("pingone"),
  aic: variablesOf("aic"),
};

function variablesOf(type: IdpSettings["type"]): readonly IdpVariable[] {
  const variables = Object.entries(idpVariables[type]);
  return variables.filter(([key]) => configurationKeys[type].includes(key)).map(([, variable]) => variable);
}

/**
 * The version 1 status answer from the words of the settings in force. What the default IdP has is told by its variables also
 * where a file configures it.
 */
export function statusV1(
  words: Readonly<Record<string, string>>,
  defaultIdp: IdpSettings | undefined,
): Readonly<Record<string, string>> {
  const common = statusKeysV1.map(name => [name, shownText(words[name] ?? "")] as const);
  return Object.fromEntries([...common, ...(defaultIdp === undefined ? [] : ofKind(defaultIdp))]);
}

function ofKind(idp: IdpSettings): readonly (readonly [IdpVariable, string])[] {
  const values: Readonly<Record<string, unknown>> = idp;
  const texts = Object.entries(idpVariables[idp.type]).map(([key, variable]) => [variable, values[key] ?? ""] as const);
  return texts
    .filter(([variable]) => statusKeysOfKind[idp.type].includes(variable))
    .map(([variable, value]) => [variable, shownText(String(value))]);
}

/** Settings as the status answer shows them: an address without credentials, query and fragment. */
function shownText(text: string): string {
  if (!/^https?:\/\//i.test(text) || !URL.canParse(text)) return text;
  const url = new URL(text);
  if (url.username === "" && url.password === "" && url.search === "" && url.hash === "") return text;
  return `${url.origin}${url.pathname}`;
}

/** The status answer from the words of the settings in force; a name that is not listed can not appear. */
export function statusV2(words: Readonly<Record<string, string>>, idps: IdpConfigurations) {
  const texts = Object.fromEntries(statusKeysV2.map(name => [name, shownText(words[name] ?? "")]));
  return { ...texts, IDP_CONFIGURATIONS: Object.fromEntries([...idps].map(([id, idp]) => [id, configurationOf(idp)])) };
}

/** An unset setting is an empty text, so that every entry of a kind has the same keys. */
function configurationOf(idp: IdpSettings): Readonly<Record<string, unknown>> {
  const values: Readonly<Record<string, unknown>> = idp;
  return Object.fromEntries(configurationKeys[idp.type].map(key => [key, values[key] ?? ""]));
}
