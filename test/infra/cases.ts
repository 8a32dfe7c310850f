import { existingNetworkId, existingVariables } from "./azd/existing-resources.ts";

/** Variables of an azd environment by name. */
export type Environment = Readonly<Record<string, string>>;

/** What an administrator must give. */
export const asked: Environment = {
  AZURE_ENV_NAME: "sample",
  AZURE_LOCATION: "swedencentral",
  MAIL_DOMAIN: "keys.example.com",
};

/** As above, and what the preprovision hook gives. */
const required: Environment = {
  ...asked,
  NEW_AUTH_DATA_KEY: "A".repeat(43),
  NEW_AUTH_PEPPER: "B".repeat(43),
  NEW_CONNECTOR_DATA_KEY: "C".repeat(43),
  NEW_KEYS_EXPIRE_ON: "1900000000",
};

/** As above, and the settings without which the connector does not start. */
export const sample: Environment = {
  ...required,
  NAME_SUFFIX: "second",
  DELIVERY_API_BASE_URL: "https://delivery.example.com",
  DELIVERY_JWKS_SIGN_ENDPOINT: "https://delivery.example.com/sign",
  DELIVERY_JWKS_TRANSPORT_ENDPOINT: "https://delivery.example.com/transport",
  IDPA_FIDO_API_CLIENT_ID: "33333333-3333-4333-8333-333333333333",
};

const frontDoor = "0f5d1c2e-7a63-4b0e-9d0c-1f2e3d4c5b6a";
const networkProvider = existingNetworkId.replace(/\/virtualNetworks.*$/, "");

/**
 * Variables that each snapshot of `main.bicep` adds to `sample`. The first snapshot has every resource; the others have what
 * differs from it.
 */
export const cases = {
  base: {},
  "static-tokens": { CALLER_STATIC_TOKENS: "true" },
  proxies: { CLIENT_PROXY_ID: frontDoor, CONNECTOR_PROXY_ID: "9b1d", AVAILABILITY_TESTS: "true" },
  "client-proxy": {
    CLIENT_PROXY_ID: "a long id of a gateway",
    PROXY_SOURCE: "203.0.113.0/24",
    PROXY_ID_HEADER: "X-Gateway-Id",
    TRUSTED_PROXIES: "3",
    CLIENT_PUBLIC_BASE_URL: "https://login.example.com",
    AVAILABILITY_TESTS: "true",
  },
  "connector-proxy": { CONNECTOR_PROXY_ID: frontDoor, TRUSTED_PROXIES: "3", EVENT_SINK_URLS: "none" },
  "trusted-proxies": { TRUSTED_PROXIES: "2" },
  ranges: { CORE_DEPLOY_RANGE: "203.0.113.7/32", OPERATOR_RANGE: "10.90.1.0/27" },
  setup: { CORE_SETUP_RANGE: "203.0.113.7/32" },
  trial: { TRIAL: "true", NETWORK_ID: existingNetworkId, SUBNET_ID_CORE: existingVariables.SUBNET_ID_CORE },
  "trial-with-range": { TRIAL: "true", CORE_DEPLOY_RANGE: "203.0.113.7/32" },
  existing: existingVariables,
  "existing-network": {
    NETWORK_ID: existingNetworkId,
    NETWORK_PREFIX: "10.20.4.0/24",
    DNS_ZONE_ID_BLOB: existingVariables.DNS_ZONE_ID_BLOB,
    IDP_ENABLE_MULTI_IDP: "true",
    IDP_CONFIGURATION_PATH: "configuration.yaml",
  },
  "ways-out": {
    NAT_GATEWAY_ID: `${networkProvider}/natGateways/nat`,
    ROUTE_TABLE_ID: `${networkProvider}/routeTables/routes`,
    ADDITIONAL_SUBNETS: "runners=10.90.1.0/26, AzureBastionSubnet=10.90.1.64/26,GatewaySubnet=10.90.1.128/27",
    RESOURCE_TAGS: "costCenter=42, owner = identity team,formula=a=b",
  },
  "no-dns-records": { PRIVATE_DNS: "none" },
  options: {
    EVENT_SINK_URLS: "https://itsm.example.com",
    AVAILABILITY_TESTS: "true",
    ALERT_MAIL_TO: "a@example.com, b@example.com",
    CLIENT_ALWAYS_READY_INSTANCES: "2",
    MAIL_SENDER_NAME: "Security-Keys",
    MAIL_DOMAIN_LINKED: "true",
    CLOUD_TABLES_SHIPMENTS_TABLE_NAME: "myshipments",
    LOGGING_LEVEL_COM_SERVICE: "DEBUG",
    AUTH_OTP_POLICY: "always",
    PIN_MAIL_ORGANIZATION: 'A \\"quoted\\" name',
    INSTANCE_MEMORY_MB: "4096",
  },
  "other-mail-domain": { MAIL_DOMAIN: "other.example.com", CRON_BACKUP_SCHEDULE: "none" },
  "next-keys": {
    NEW_AUTH_DATA_KEY: "",
    NEW_AUTH_PEPPER: "",
    NEW_CONNECTOR_DATA_KEY: "",
    NEW_KEYS_EXPIRE_ON: "2000000000",
  },
  dev: "infra/stages/dev.env",
  test: "infra/stages/test.env",
  prod: "infra/stages/prod.env",
} as const satisfies Readonly<Record<string, Environment | string>>;

export type CaseName = keyof typeof cases;

/** Parameters of the templates that a person deploys, by template. */
export const byHand = {
  "secret.bicep": {
    vaultName: "kv-conn-sample",
    name: "delivery-api-token",
    value: "sample",
    expiresOn: 1_900_000_000,
  },
  "backup-role.bicep": { accountName: "stcopies", corePrincipalId: "core", connectorPrincipalId: "connector" },
} as const;
