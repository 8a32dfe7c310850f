const delivery = "https://delivery.example.com";
const tenant = "7f1c2d4e-5a6b-4c8d-9e0f-a1b2c3d4e5f6";
const clientId = "5f0c7c56-6f1e-4c3c-9f51-2f8f2f3f9a10";

const common = {
  CLOUD_TABLES_SHIPMENTS_TABLE_NAME: "fprshipments",
  CLOUD_TENANT_ID: tenant,
  CRON_PROCESS_SHIPMENT_SCHEDULE: "0 0 * * * *",
  CRON_DATA_CLEANUP_SCHEDULE: "0 30 * * * *",
  CRON_DATA_CLEANUP_COMPLETED_DAYS: "0",
  EMAIL_API_SEND_ENDPOINT: "https://mail.example.com",
  LOGGING_LEVEL_COM_SERVICE: "INFO",
  DELIVERY_API_BASE_URL: delivery,
  DELIVERY_JWKS_SIGN_ENDPOINT: `${delivery}/.well-known/sign.jwks`,
  DELIVERY_JWKS_TRANSPORT_ENDPOINT: `${delivery}/.well-known/transport-keys.jwks`,
  FIDO_CONNECTOR_VERSION: "0.1.0",
};

/** The settings of the local system, with the addresses of a deployment. */
export const statusV1 = {
  CLOUD_KEY_VAULT_ENDPOINT: "https://keys.vault.azure.net",
  CLOUD_TABLES_ENDPOINT: "https://keys.table.core.windows.net",
  ...common,
  IDPA_FIDO_API_CLIENT_ID: clientId,
  IDPA_FIDO_API_VERSION: "beta",
  IDPA_FIDO_API_CHALLENGE_TIMEOUT_MINUTES: "20160",
};

export const statusV2 = {
  CLOUD_STORAGE_BLOB_ENDPOINT: "https://keys.blob.core.windows.net",
  ...common,
  CRON_PROCESS_CREDENTIAL_REQUESTS_SCHEDULE: "0 0 * * * *",
  RFPR_API_BASE_URL: "https://rfpr.example.com",
  RFPR_RETRY_NUMBER_DAYS: "14",
  ENROLLMENT_SERVICE_API_BASE_URL: "https://enrollment.example.com",
  IDP_DEFAULT: "entra",
  IDP_ENABLE_MULTI_IDP: "true",
  IDP_CONFIGURATION_PATH: "identity-providers.yaml",
  IDP_CONFIGURATIONS: {
    entra: {
      "api-version": "beta",
      "graph-endpoint": "https://graph.microsoft.com",
      type: "entra",
      "challenge-timeout-minutes": 20160,
      "client-id": clientId,
      "tenant-id": tenant,
      "online-endpoint": "https://login.microsoftonline.com",
    },
    pingone: {
      "default-relying-party": "pingone.example.com",
      "api-base-url": "https://api.pingone.eu",
      "environment-id": "0b6e1c1e-52a0-4e0c-8f0d-6a4f3f1c2d55",
      "pre-registration-timeout-days": 14,
      type: "pingone",
      "client-id": clientId,
      "auth-base-url": "https://auth.pingone.eu",
    },
    aic: {
      journey: "RegisterKey",
      type: "aic",
      "api-base-url": "https://openam-example.forgeblocks.com",
      "authentication-header": "Authorization",
      "token-id-1": "IDToken1",
      "token-id-2": "IDToken2",
      scope: "fido",
      realm: "alpha",
      "client-id": clientId,
      "callback-1": "NameCallback",
      "callback-2": "MetadataCallback",
      "callback-3": "HiddenValueCallback",
      "auth-base-url": "https://openam-example.forgeblocks.com",
    },
  },
};
