import { valueAt } from "./json.ts";
import { type Deployed, type Deployment, isOf, ofType } from "./templates.ts";

/** What must stand in every resource of a type. */
const wanted: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  "Microsoft.Storage/storageAccounts": {
    allowSharedKeyAccess: false,
    allowBlobPublicAccess: false,
    publicNetworkAccess: "Disabled",
    minimumTlsVersion: "TLS1_2",
    supportsHttpsTrafficOnly: true,
    "networkAcls.bypass": "None",
    "networkAcls.defaultAction": "Deny",
    "encryption.requireInfrastructureEncryption": true,
  },
  "Microsoft.Storage/storageAccounts/blobServices": {
    "deleteRetentionPolicy.enabled": true,
    "containerDeleteRetentionPolicy.enabled": true,
  },
  "Microsoft.Storage/storageAccounts/blobServices/containers": { publicAccess: "None" },
  "Microsoft.KeyVault/vaults": {
    enableRbacAuthorization: true,
    enableSoftDelete: true,
    enablePurgeProtection: true,
    softDeleteRetentionInDays: 90,
    publicNetworkAccess: "Disabled",
    "networkAcls.bypass": "None",
    "networkAcls.defaultAction": "Deny",
  },
  "Microsoft.Web/sites": {
    httpsOnly: true,
    "siteConfig.minTlsVersion": "1.2",
    "siteConfig.scmMinTlsVersion": "1.2",
    "siteConfig.scmIpSecurityRestrictionsUseMain": false,
    "outboundVnetRouting.allTraffic": true,
  },
  "Microsoft.Web/sites/basicPublishingCredentialsPolicies": { allow: false },
  "Microsoft.Insights/components": { DisableLocalAuth: true },
  "Microsoft.OperationalInsights/workspaces": { "features.disableLocalAuth": true },
  "Microsoft.Communication/communicationServices": { disableLocalAuth: true },
  "Microsoft.Communication/emailServices/domains": { userEngagementTracking: "Disabled" },
  "Microsoft.Authorization/roleAssignments": { principalType: "ServicePrincipal" },
};

/** What in a deployment opens a door that is to stay closed. */
export function isolationFaults(deployment: Deployment): readonly string[] {
  const fixed = Object.entries(wanted).flatMap(([type, properties]) => {
    const found = ofType(deployment, type);
    if (found.length === 0) return [`there is no ${type}`];
    return found.flatMap(({ name, body }) =>
      Object.entries(properties).flatMap(([path, value]) => {
        const there = valueAt(body.properties, path);
        return there === value ? [] : [`${name}: ${path} is ${JSON.stringify(there)}, not ${JSON.stringify(value)}`];
      }),
    );
  });
  return [
    ...fixed,
    ...ofType(deployment, "Microsoft.Web/sites").flatMap(site => siteFaults(site, deployment)),
    ...endpointFaults(deployment),
    ...ofType(deployment, "Microsoft.Network/virtualNetworks/subnets").flatMap(subnetFaults),
    ...ofType(deployment, "Microsoft.Insights/diagnosticSettings").flatMap(diagnosticFaults),
  ];
}

const isCore = ({ body }: Deployed): boolean => valueAt(body.tags, "azd-service-name") === "core";

function siteFaults(site: Deployed, deployment: Deployment): readonly string[] {
  const { name, body } = site;
  const policies = ofType(deployment, "Microsoft.Web/sites/basicPublishingCredentialsPolicies")
    .filter(policy => policy.name.startsWith(`${name}/`))
    .map(({ last }) => last)
    .sort();
  const passwords =
    policies.join() === "ftp,scm" ? [] : [`${name}: passwords for ${policies.join() || "nothing"} alone are off`];
  if (!isCore(site)) return passwords;
  const main = valueAt(body.properties, "siteConfig.ipSecurityRestrictionsDefaultAction");
  const rules = valueAt(body.properties, "siteConfig.ipSecurityRestrictions");
  const deploySite = valueAt(body.properties, "siteConfig.scmIpSecurityRestrictionsDefaultAction");
  const open = main !== "Deny" || deploySite !== "Deny" || !Array.isArray(rules) || rules.length > 0;
  return open ? [...passwords, `${name}: Core is open to the internet`] : passwords;
}

/** Every store and vault is reached by private endpoints, Core too; each is in the subnet of its own service. */
function endpointFaults(deployment: Deployment): readonly string[] {
  const endpoints = ofType(deployment, "Microsoft.Network/privateEndpoints").map(({ body }) => ({
    target: valueAt(body.properties, "privateLinkServiceConnections.0.properties.privateLinkServiceId"),
    group: valueAt(body.properties, "privateLinkServiceConnections.0.properties.groupIds.0"),
    subnet: String(valueAt(body.properties, "subnet.id")).split("/").at(-1),
  }));
  const needs = [
    ...ofType(deployment, "Microsoft.Storage/storageAccounts").flatMap(each => [
      [each, "blob"] as const,
      [each, "table"] as const,
    ]),
    ...ofType(deployment, "Microsoft.KeyVault/vaults").map(each => [each, "vault"] as const),
    ...ofType(deployment, "Microsoft.Web/sites")
      .filter(isCore)
      .map(each => [each, "sites"] as const),
  ];
  return needs.flatMap(([target, group]) => {
    const { id, name } = target;
    const subnet = isCore(target) ? "core-endpoint" : isOf("auth", target) ? "auth-endpoints" : "connector-endpoints";
    const found = endpoints.filter(each => each.target === id && each.group === group);
    return found.length === 1 && found[0]?.subnet === subnet
      ? []
      : [`${name}: ${group} has no private endpoint in ${subnet}`];
  });
}

/**
 * Flex Consumption runs in subnets that are delegated to it; private endpoints cannot be in a delegated one. All are
 * private.
 */
function subnetFaults({ last, body: { properties } }: Deployed): readonly string[] {
  const delegated = valueAt(properties, "delegations.0.properties.serviceName");
  const wanted = ["core", "client", "connector"].includes(last) ? "Microsoft.App/environments" : undefined;
  return [
    ...(delegated === wanted ? [] : [`${last} is delegated to ${delegated ?? "nothing"}`]),
    ...(valueAt(properties, "defaultOutboundAccess") === false ? [] : [`${last} is no private subnet`]),
  ];
}

/** Access logs of the platform hold queries and cookies; a group of all categories takes them along. */
function diagnosticFaults({ id, body }: Deployed): readonly string[] {
  const logs = valueAt(body.properties, "logs");
  const taken = Array.isArray(logs) ? logs.map(log => valueAt(log, "category") ?? "a group of categories") : [];
  return taken.filter(category => category !== "AuditEvent").map(category => `${id}: ${category} is collected`);
}
