import type { IdpSettings } from "./idp/kinds.ts";

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

/** Settings as the status answer shows them: an address without credentials, query and fragment. */
export function shownText(text: string): string {
  if (!/^https?:\/\//i.test(text) || !URL.canParse(text)) return text;
  const url = new URL(text);
  if (url.username === "" && url.password === "" && url.search === "" && url.hash === "") return text;
  return `${url.origin}${url.pathname}`;
}

/** The status answer from the words of the settings in force; a name that is not listed can not appear. */
export function statusV2(words: Readonly<Record<string, string>>, idps: Readonly<Record<string, IdpSettings>>) {
  const texts = Object.fromEntries(statusKeysV2.map(name => [name, shownText(words[name] ?? "")]));
  return { ...texts, IDP_CONFIGURATIONS: idps };
}
