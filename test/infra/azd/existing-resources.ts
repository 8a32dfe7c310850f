const platform = "/subscriptions/33333333-3333-4333-8333-333333333333/resourceGroups/rg-platform/providers";
const subnet = (name: string) => `${platform}/Microsoft.Network/virtualNetworks/vnet-hub/subnets/${name}`;
const zone = (name: string) => `${platform}/Microsoft.Network/privateDnsZones/${name}`;
const identity = (name: string) => `${platform}/Microsoft.ManagedIdentity/userAssignedIdentities/${name}`;

/** A network of a platform team, in another resource group and subscription. */
export const existingNetworkId = `${platform}/Microsoft.Network/virtualNetworks/vnet-spoke`;

/** Every resource that a platform team may own, as ids of another resource group and subscription. */
export const existingResources = {
  existingSubnetIds: {
    core: subnet("snet-core"),
    client: subnet("snet-client"),
    connector: subnet("snet-connector"),
    authEndpoints: subnet("snet-auth-endpoints"),
    connectorEndpoints: subnet("snet-connector-endpoints"),
    coreEndpoint: subnet("snet-core-endpoint"),
  },
  existingDnsZoneIds: {
    blob: zone("privatelink.blob.core.windows.net"),
    table: zone("privatelink.table.core.windows.net"),
    vault: zone("privatelink.vaultcore.azure.net"),
    sites: zone("privatelink.azurewebsites.net"),
  },
  existingIdentityIds: {
    core: identity("id-core"),
    client: identity("id-client"),
    connector: identity("id-connector"),
  },
  existingWorkspaceId: `${platform}/Microsoft.OperationalInsights/workspaces/log-platform`,
  existingActionGroupId: `${platform}/Microsoft.Insights/actionGroups/on-call`,
} as const;
