import { authSettings } from "../../lib/auth/settings.ts";
import { authTables } from "../../lib/auth/tables.table.ts";
import { responsesContainer } from "../../lib/connector/collect/responses.blob.ts";
import { connectorSettings } from "../../lib/connector/settings.ts";
import { connectorTables } from "../../lib/connector/storage/requests.table.ts";
import { hostBodyLimitBytes } from "../../lib/platform/http/read-body.ts";
import { backupsContainer } from "../../lib/platform/maintenance/read-backup.ts";
import { deploymentSettings } from "../../lib/platform/settings/deployment-settings.ts";
import { describeSettings } from "./describe-settings.ts";

/** Settings that the templates compute, or that only a local run has. An administrator does not set them. */
const notGiven: readonly string[] = [
  "SERVICE_APIS",
  "PUBLIC_BASE_URL",
  "PROXY_ID",
  "CLOUD_TENANT_ID",
  "CLOUD_TABLES_ENDPOINT",
  "CLOUD_STORAGE_BLOB_ENDPOINT",
  "CLOUD_STORAGE_CONNECTION_STRING",
  "CLOUD_KEY_VAULT_ENDPOINT",
  "AZURE_CLIENT_ID",
  "APPLICATIONINSIGHTS_CONNECTION_STRING",
  "APPLICATIONINSIGHTS_AUTHENTICATION_STRING",
  "SESSION_COOKIE_SECURE",
  "EMAIL_API_SEND_ENDPOINT",
  "EMAIL_SENDER_ADDRESS",
  "EMAIL_CONNECTION_STRING",
];

/** Values of parameters, or of their members, by the azd variable that fills each. */
interface Variables {
  readonly [name: string]: string | Variables;
}

/**
 * Parameters of `main.bicep` by their azd variables; the variable of a setting has its name. For azd an unset variable is an empty
 * text, which would replace the default of the template, so the defaults of texts are repeated here. If the azd environment does not
 * have a variable, azd reads it from the shell, so no name is one that images and shells use for something else.
 */
const variables: Variables = {
  environmentName: "AZURE_ENV_NAME",
  location: "AZURE_LOCATION",
  nameSuffix: "NAME_SUFFIX",
  resourceTags: "RESOURCE_TAGS",
  nodeVersion: "FUNCTIONS_NODE_VERSION=24",
  maximumInstanceCount: "MAXIMUM_INSTANCE_COUNT",
  instanceMemoryMB: "INSTANCE_MEMORY_MB",
  clientAlwaysReadyInstances: "CLIENT_ALWAYS_READY_INSTANCES",
  storageSku: "STORAGE_SKU=Standard_ZRS",
  zoneRedundant: "ZONE_REDUNDANT",
  trial: "TRIAL",
  resourceLocks: "RESOURCE_LOCKS",
  softDeleteDays: "SOFT_DELETE_DAYS",
  networkPrefix: "NETWORK_PREFIX=10.90.0.0/23",
  additionalSubnets: "ADDITIONAL_SUBNETS",
  operatorRange: "OPERATOR_RANGE",
  coreRanges: { deploy: "CORE_DEPLOY_RANGE", setup: "CORE_SETUP_RANGE" },
  existingIds: {
    network: "NETWORK_ID",
    subnets: {
      core: "SUBNET_ID_CORE",
      client: "SUBNET_ID_CLIENT",
      connector: "SUBNET_ID_CONNECTOR",
      authEndpoints: "SUBNET_ID_AUTH_ENDPOINTS",
      connectorEndpoints: "SUBNET_ID_CONNECTOR_ENDPOINTS",
      coreEndpoint: "SUBNET_ID_CORE_ENDPOINT",
    },
    dnsZones: {
      blob: "DNS_ZONE_ID_BLOB",
      table: "DNS_ZONE_ID_TABLE",
      vault: "DNS_ZONE_ID_VAULT",
      sites: "DNS_ZONE_ID_SITES",
    },
    natGateway: "NAT_GATEWAY_ID",
    routeTable: "ROUTE_TABLE_ID",
    identities: { core: "IDENTITY_ID_CORE", client: "IDENTITY_ID_CLIENT", connector: "IDENTITY_ID_CONNECTOR" },
    workspace: "WORKSPACE_ID",
    actionGroup: "ACTION_GROUP_ID",
  },
  privateDns: "PRIVATE_DNS=own",
  tenantId: "CLOUD_TENANT_ID",
  publicBaseUrls: {
    core: "CORE_PUBLIC_BASE_URL",
    client: "CLIENT_PUBLIC_BASE_URL",
    connector: "CONNECTOR_PUBLIC_BASE_URL",
  },
  proxyIds: { client: "CLIENT_PROXY_ID", connector: "CONNECTOR_PROXY_ID" },
  proxySource: "PROXY_SOURCE=AzureFrontDoor.Backend",
  mailDomain: "MAIL_DOMAIN",
  mailSender: { name: "MAIL_SENDER_NAME=donotreply", displayName: "MAIL_SENDER_DISPLAY_NAME=Security keys" },
  mailDataLocation: "MAIL_DATA_LOCATION=Europe",
  mailDomainLinked: "MAIL_DOMAIN_LINKED",
  alertMailTo: "ALERT_MAIL_TO",
  retentionDays: "RETENTION_DAYS",
  dailyCapGb: "DAILY_CAP_GB",
  availabilityTests: "AVAILABILITY_TESTS",
  alertJobWindow: "ALERT_JOB_WINDOW=PT3H",
  newKeys: { authData: "NEW_AUTH_DATA_KEY", authPepper: "NEW_AUTH_PEPPER", connectorData: "NEW_CONNECTOR_DATA_KEY" },
  keysExpireOn: "NEW_KEYS_EXPIRE_ON",
};

/** Returns the files of `infra/` that are generated from the code, by path. */
export const infraFiles = (): Readonly<Record<string, string>> => ({
  "infra/code.json": json({
    hostBodyLimitBytes: String(hostBodyLimitBytes),
    settings: {
      everyApp: defaultsOf(deploymentSettings),
      auth: defaultsOf(authSettings),
      connector: defaultsOf(connectorSettings),
    },
    tables: { auth: authTables, connector: connectorTables("").filter(name => name !== "") },
    containers: { auth: [backupsContainer], connector: [backupsContainer, responsesContainer] },
  }),
  "infra/main.parameters.json": json({
    $schema: "https://schema.management.azure.com/schemas/2019-04-01/deploymentParameters.json#",
    contentVersion: "1.0.0.0",
    parameters: {
      ...Object.fromEntries(Object.entries(variables).map(([name, inner]) => [name, { value: filled(inner) }])),
      settings: {
        value: {
          everyApp: givenOf(deploymentSettings),
          auth: givenOf(authSettings),
          connector: givenOf(connectorSettings),
        },
      },
    },
  }),
});

type Schema = Parameters<typeof describeSettings>[0];

/** Returns the settings that the templates set, with their defaults; empty texts for settings without one. */
const defaultsOf = (schema: Schema): Readonly<Record<string, string>> =>
  Object.fromEntries(
    describeSettings(schema)
      .filter(({ name }) => name === "SESSION_COOKIE_SECURE" || !notGiven.includes(name))
      .map(({ name, defaultText = "" }) => [name, defaultText]),
  );

const givenOf = (schema: Schema): Readonly<Record<string, string>> =>
  Object.fromEntries(
    describeSettings(schema)
      .filter(({ name }) => !notGiven.includes(name))
      .map(({ name }) => [name, filledBy(name)]),
  );

const filled = (variable: string | Variables): unknown =>
  typeof variable === "string"
    ? filledBy(variable)
    : Object.fromEntries(Object.entries(variable).map(([name, inner]) => [name, filled(inner)]));

const filledBy = (variable: string): string => `\${${variable}}`;

const json = (value: unknown): string => `${JSON.stringify(value, undefined, 2)}\n`;
