const platform = "/subscriptions/33333333-3333-4333-8333-333333333333/resourceGroups/rg-platform/providers";
const subnet = (name: string) => `${platform}/Microsoft.Network/virtualNetworks/vnet-hub/subnets/${name}`;
const zone = (name: string) => `${platform}/Microsoft.Network/privateDnsZones/${name}`;
const identity = (name: string) => `${platform}/Microsoft.ManagedIdentity/userAssignedIdentities/${name}`;

/** A network of a platform team, in another resource group and subscription. */
export const existingNetworkId = `${platform}/Microsoft.Network/virtualNetworks/vnet-spoke`;

/** The variables that name every resource that a platform team may own, in another resource group and subscription. */
export const existingVariables = {
  SUBNET_ID_CORE: subnet("snet-core"),
  SUBNET_ID_CLIENT: subnet("snet-client"),
  SUBNET_ID_CONNECTOR: subnet("snet-connector"),
  SUBNET_ID_AUTH_ENDPOINTS: subnet("snet-auth-endpoints"),
  SUBNET_ID_CONNECTOR_ENDPOINTS: subnet("snet-connector-endpoints"),
  SUBNET_ID_CORE_ENDPOINT: subnet("snet-core-endpoint"),
  DNS_ZONE_ID_BLOB: zone("privatelink.blob.core.windows.net"),
  DNS_ZONE_ID_TABLE: zone("privatelink.table.core.windows.net"),
  DNS_ZONE_ID_VAULT: zone("privatelink.vaultcore.azure.net"),
  DNS_ZONE_ID_SITES: zone("privatelink.azurewebsites.net"),
  IDENTITY_ID_CORE: identity("id-core"),
  IDENTITY_ID_CLIENT: identity("id-client"),
  IDENTITY_ID_CONNECTOR: identity("id-connector"),
  WORKSPACE_ID: `${platform}/Microsoft.OperationalInsights/workspaces/log-platform`,
  ACTION_GROUP_ID: `${platform}/Microsoft.Insights/actionGroups/on-call`,
} as const;
