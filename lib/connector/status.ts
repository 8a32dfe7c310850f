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

/** The names of the default IdP's kind in the version 1 status answer (specification section 2, decision C17). */
const statusKeysOfKind: Record<IdpSettings["type"], readonly string[]> = {
  entra: ["IDPA_FIDO_API_CLIENT_ID", "IDPA_FIDO_API_VERSION", "IDPA_FIDO_API_CHALLENGE_TIMEOUT_MINUTES"],
  pingone: [
    "IDPB_ENVIRONMENT",
    "IDPB_DEFAULT_RELYING_PARTY",
    "IDPB_AUTH_BASE_URL",
    "IDPB_CLIENT_ID",
    "IDPB_API_BASE_URL",
    "IDPB_PRE_REGISTRATION_TIMEOUT_DAYS",
  ],
  aic: [
    "IDPC_JOURNEY",
    "IDPC_CHALLENGE_TIMEOUT_MILLISECONDS",
    "IDPC_API_BASE_URL",
    "IDPC_AUTHENTICATION_HEADER",
    "IDPC_TOKEN_ID_1",
    "IDPC_TOKEN_ID_2",
    "IDPC_SCOPE",
    "IDPC_REALM",
    "IDPC_CLIENT_ID",
    "IDPC_CALLBACK_1",
    "IDPC_CALLBACK_2",
    "IDPC_CALLBACK_3",
    "IDPC_AUTH_BASE_URL",
  ],
};

/** The version 1 status answer from the words of the settings in force. */
export function statusV1(words: Readonly<Record<string, string>>, defaultKind: IdpSettings["type"] | undefined) {
  const ofKind = defaultKind === undefined ? [] : statusKeysOfKind[defaultKind];
  return Object.fromEntries([...statusKeysV1, ...ofKind].map(name => [name, shownText(words[name] ?? "")]));
}

/** Settings as the status answer shows them: an address without credentials, query and fragment. */
function shownText(text: string): string {
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
