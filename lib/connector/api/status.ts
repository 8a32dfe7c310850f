import { type IdpConfigurations, type IdpSettings, kindOf, variablesOf } from "../idp/kinds.ts";

/** The settings in the status of version 2 (specification section 2, C17). */
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

/** The settings in the status of version 1, without those of the default IdP. */
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

/**
 * Returns the status of version 1.
 * @param values the effective settings as text
 * @param defaultIdp the default IdP, which is shown under the names of the environment variables of its kind, also if a
 * file configures it
 */
export function statusV1(
  values: Readonly<Record<string, string>>,
  defaultIdp: IdpSettings | undefined,
): Readonly<Record<string, string>> {
  const common = statusKeysV1.map(name => [name, shownText(values[name] ?? "")] as const);
  return Object.fromEntries([...common, ...(defaultIdp === undefined ? [] : variableValues(defaultIdp))]);
}

function variableValues(idp: IdpSettings): readonly (readonly [string, string])[] {
  const kind = kindOf(idp);
  const keys = kind.statusKeysV1 ?? kind.statusKeys;
  const values: Readonly<Record<string, unknown>> = idp;
  return variablesOf(kind)
    .filter(({ key }) => keys.includes(key))
    .map(({ key, name }) => [name, shownText(String(values[key] ?? ""))]);
}

/** Returns an address without credentials, query and fragment, and any other text unchanged. */
function shownText(text: string): string {
  if (!/^https?:\/\//i.test(text) || !URL.canParse(text)) return text;
  const url = new URL(text);
  if (url.username === "" && url.password === "" && url.search === "" && url.hash === "") return text;
  return `${url.origin}${url.pathname}`;
}

/** Returns the status of version 2. @param values the effective settings as text; only listed names are shown */
export function statusV2(values: Readonly<Record<string, string>>, idps: IdpConfigurations) {
  const texts = Object.fromEntries(statusKeysV2.map(name => [name, shownText(values[name] ?? "")]));
  return { ...texts, IDP_CONFIGURATIONS: Object.fromEntries([...idps].map(([id, idp]) => [id, shownKeys(idp)])) };
}

/** Returns the shown settings of an IdP. An unset text is empty; an unset number is absent (an integer by contract). */
function shownKeys(idp: IdpSettings): Readonly<Record<string, unknown>> {
  const values: Readonly<Record<string, unknown>> = idp;
  const kind = kindOf(idp);
  const keys = kind.statusKeys.filter(key => values[key] !== undefined || !kind.statusNumbers.includes(key));
  return Object.fromEntries(keys.map(key => [key, values[key] ?? ""]));
}
