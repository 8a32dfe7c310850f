metadata description = 'An authentication server and a credential connector on Azure Functions: three apps, two services that cannot reach each other.'

import { ByApp, CoreRanges, DnsRecord, given, listed, pairs, Subnets, Texts, Zones } from 'types.bicep'

targetScope = 'resourceGroup'

// Settings with the code's own values, tables and containers: made from the code by `npm run settings`.
var code = loadJsonContent('code.json')

// Of the deployment

@description('Name of the azd environment.')
@minLength(1)
@maxLength(64)
param environmentName string

@description('Region of everything that has one. It must offer Functions Flex Consumption with the version of Node below.')
param location string = resourceGroup().location

@description('Put into every name that is unique in the world. Change it after `azd down`: names of deleted vaults stay taken for 90 days.')
@maxLength(16)
param nameSuffix string = ''

@description('Tags of every resource, in addition to azd-env-name, comma-separated, as in costCenter=42,owner=identity.')
param resourceTags string = ''

@description('Version of Node; take 22 where the region does not offer 24.')
@allowed(['22', '24'])
param nodeVersion string = '24'

@description('The most instances at once for the HTTP functions of each app, and for each timer, which needs one. All Flex Consumption apps of a subscription share a quota in a region.')
@minValue(40)
@maxValue(1000)
param maximumInstanceCount int = 40

@description('Memory of an instance, in MB. A password hash takes 19 MiB and a core.')
// Of 512 MB the service has refused apps (Azure/azure-rest-api-specs#40898).
@allowed([2048, 4096])
param instanceMemoryMB int = 2048

@description('Instances of Client that are kept ready, so that no sign-in waits for a start. They are paid for all the time.')
@minValue(0)
@maxValue(20)
param clientAlwaysReadyInstances int = 0

@description('Copies of the storage. Take Standard_LRS where the region has no zones.')
@allowed(['Standard_LRS', 'Standard_ZRS', 'Standard_GRS', 'Standard_GZRS', 'Standard_RAGRS', 'Standard_RAGZRS'])
param storageSku string = 'Standard_ZRS'

@description('Whether the instances of each app are spread over availability zones. The platform then keeps two instances of each app ready, which are paid for all the time.')
param zoneRedundant bool = false

@description('A cheap set for trying out, never for real data: stores and vaults answer on the internet, where roles alone protect them, Core answers to coreRanges, and vaults can be purged.')
param trial bool = false

@description('Whether stores and vaults have locks against deletion. Creating one needs Owner or User Access Administrator.')
param resourceLocks bool = false

@description('For how many days deleted blobs, and so erased responses of keys, can be brought back.')
@minValue(1)
@maxValue(365)
param softDeleteDays int = 7

// Of the network

@description('Addresses of the network, at least a /24. The first /24 is used, the rest is free for subnets of your own. With a network of yours a free /24 of it.')
param networkPrefix string = '10.90.0.0/23'

@description('Subnets of your own in the network, comma-separated, as in runners=10.90.1.0/27 for a machine that deploys Core.')
param additionalSubnets string = ''

@description('Addresses of operators, in the network or in one that is peered with it, as in 10.90.1.0/27. They reach stores and vaults as far as their roles go. Empty: only the apps.')
param operatorRange string = ''

@description('From where Core is reached over the internet, with an Entra token. Empty: only from inside.')
param coreRanges CoreRanges = { deploy: '', setup: '' }

@description('Ids of resources of yours that are used in place of new ones; empty ones are made (docs/deploy.md, "Existing resources").')
type ExistingIds = {
  network: string
  @description('All or none; then no network is made.')
  subnets: Subnets
  @description('With subnets of yours all are needed, unless privateDns is none.')
  dnsZones: Zones
  @description('This and the route table are the only way out of the subnets of apps and machines.')
  natGateway: string
  routeTable: string
  identities: ByApp
  workspace: string
  actionGroup: string
}

@description('Ids of resources of yours.')
param existingIds ExistingIds = {
  network: ''
  subnets: { core: '', client: '', connector: '', authEndpoints: '', connectorEndpoints: '', coreEndpoint: '' }
  dnsZones: { blob: '', table: '', vault: '', sites: '' }
  natGateway: ''
  routeTable: ''
  identities: { core: '', client: '', connector: '' }
  workspace: ''
  actionGroup: ''
}

@description('none: no DNS record of a private endpoint is made, because a policy of yours makes them.')
@allowed(['own', 'none'])
param privateDns string = 'own'

// Of the callers

@description('The Entra tenant whose tokens are taken; empty: the tenant of the subscription.')
param tenantId string = ''

@description('Addresses of the apps that answers name, where these are not their own.')
param publicBaseUrls ByApp = { core: '', client: '', connector: '' }

@description('What the proxy before an app sends with every call, as the Front Door id of its profile. The app then refuses every other call. Empty: callers reach it directly.')
param proxyIds { client: string, connector: string } = { client: '', connector: '' }

@description('Where calls of these proxies come from: a service tag, or an address range as in 203.0.113.0/24.')
@minLength(1)
param proxySource string = 'AzureFrontDoor.Backend'

@description('Settings that differ from the code\'s own values, by name (docs/settings.md). Empty ones count as not given.')
param settings { everyApp: Texts, auth: Texts, connector: Texts } = { everyApp: {}, auth: {}, connector: {} }

// Of the mail

@description('Domain that PIN emails come from, as in keys.example.com. You must be able to add DNS records to it.')
@minLength(3)
param mailDomain string

@description('Who PIN emails come from: what is before the @, and the name that recipients see. Every domain has donotreply; any other name is refused until the sending limits of the domain are raised.')
param mailSender { name: string, displayName: string } = { name: 'donotreply', displayName: 'Security keys' }

@description('Where the mail service keeps its data.')
param mailDataLocation string = 'Europe'

@description('Whether the domain was linked before. The preprovision hook reads it from Azure, so that a DNS record that fails for a moment does not unlink the domain.')
param mailDomainLinked bool = false

// Of the operators

@description('Addresses that alerts are mailed to, comma-separated; empty mails none.')
param alertMailTo string = ''

@description('For how many days telemetry is kept.')
@minValue(30)
@maxValue(730)
param retentionDays int = 90

@description('Gigabytes of telemetry a day after which the workspace takes no more until the next day; 0 has no limit.')
@minValue(0)
param dailyCapGb int = 0

@description('Whether /health of both public apps is called from several places every 15 minutes. Before the first deployment of a package no app responds, so switch it on afterwards.')
param availabilityTests bool = false

@description('A job that has not run for this long raises an alert. Longer than the longest interval of the CRON schedules.')
@allowed(['PT2H', 'PT3H', 'PT4H', 'PT6H', 'P1D'])
param alertJobWindow string = 'PT3H'

// Made by the preprovision hook, new in each run; used only where the vault has none yet. They have defaults, because `azd up` asks a
// person for every parameter that has none, and does so before it runs a hook.

@description('Random keys of 32 bytes, base64url, for the secrets of both services and the hashes of passwords; an empty one is not made.')
@secure()
param newKeys { authData: string?, authPepper: string?, connectorData: string? } = {}

@description('When keys that are made in this run expire, in seconds since 1970.')
param keysExpireOn int = 0

var token = uniqueString(resourceGroup().id, environmentName, nameSuffix)
var allTags = union(pairs(resourceTags), { 'azd-env-name': environmentName })
var place = { location: location, tags: allTags }
var furtherSubnets = map(items(pairs(additionalSubnets)), subnet => { name: subnet.key, addressPrefix: subnet.value })

var names = {
  core: 'func-core-${token}'
  client: 'func-client-${token}'
  connector: 'func-connector-${token}'
  network: 'vnet-${token}'
  workspace: 'log-${token}'
  component: 'appi-${token}'
  authStore: 'stauth${token}'
  connectorStore: 'stconn${token}'
  authVault: 'kv-auth-${token}'
  connectorVault: 'kv-conn-${token}'
  mailService: 'mail-${token}'
  communication: 'acs-${token}'
}

var everyApp = union(code.settings.everyApp, given(settings.everyApp), {
  CLOUD_TENANT_ID: empty(tenantId) ? tenant().tenantId : tenantId
})
var ofAuth = union(code.settings.auth, given(settings.auth))
var ofConnector = union(
  code.settings.connector,
  { IDPA_ONLINE_ENDPOINT: environment().authentication.loginEndpoint },
  given(settings.connector)
)

// An app without a proxy of its own is called directly if the other app has one. With no id at all the number stays as it is given, so
// that an app that trusts more proxies than the platform's own refuses to start.
var clientTrustedProxies = empty(proxyIds.client) && !empty(proxyIds.connector) ? '1' : everyApp.TRUSTED_PROXIES
var connectorTrustedProxies = empty(proxyIds.connector) && !empty(proxyIds.client) ? '1' : everyApp.TRUSTED_PROXIES

var takesStaticTokens = everyApp.CALLER_STATIC_TOKENS == 'true'

var givenSubnets = mapValues(existingIds.subnets, id => trial ? '' : id)
var ownSubnets = !trial && empty(givenSubnets.core)
// Ids that are known at the start, not outputs of modules: a preview (what-if) shows every resource then.
var networkId = empty(existingIds.network) ? resourceId('Microsoft.Network/virtualNetworks', names.network) : existingIds.network
// '', subscriptions, its id, resourceGroups, its name, providers, Microsoft.Network, virtualNetworks, its name.
var networkParts = split(networkId, '/')
var subnetPrefix = empty(existingIds.network) ? '' : 'snet-${token}-'
var givenZones = given(existingIds.dnsZones)
var makesZones = ownSubnets && privateDns == 'own'
var zoneNames = {
  blob: 'privatelink.blob.${environment().suffixes.storage}'
  table: 'privatelink.table.${environment().suffixes.storage}'
  vault: 'privatelink.vaultcore.azure.net'
  sites: 'privatelink.azurewebsites.net'
}
var ownZoneIds = mapValues(zoneNames, name => makesZones ? resourceId('Microsoft.Network/privateDnsZones', name) : '')
var zoneIds = union(ownZoneIds, givenZones)
var subnetIds = ownSubnets
  ? {
      core: '${networkId}/subnets/${subnetPrefix}core'
      client: '${networkId}/subnets/${subnetPrefix}client'
      connector: '${networkId}/subnets/${subnetPrefix}connector'
      authEndpoints: '${networkId}/subnets/${subnetPrefix}auth-endpoints'
      connectorEndpoints: '${networkId}/subnets/${subnetPrefix}connector-endpoints'
      coreEndpoint: '${networkId}/subnets/${subnetPrefix}core-endpoint'
    }
  : givenSubnets

// Modules have names that do not change: without, each is another deployment in each run. Azure keeps 800 in a group, and deletes none
// while a lock is on the group (Azure/bicep#18621, #2529; MicrosoftDocs/azure-docs#13113).
module identities 'modules/identities.bicep' = {
  name: 'identities-${token}'
  params: {
    token: token
    place: place
    existingIds: existingIds.identities
  }
}

module network 'modules/network.bicep' = if (ownSubnets) {
  name: 'network-${token}'
  scope: resourceGroup(networkParts[2], networkParts[4])
  params: {
    name: networkParts[8]
    exists: !empty(existingIds.network)
    subnetPrefix: subnetPrefix
    groupPrefix: 'nsg-${token}-'
    natGatewayId: existingIds.natGateway
    routeTableId: existingIds.routeTable
    place: place
    addressPrefix: networkPrefix
    additionalSubnets: furtherSubnets
    operatorRange: operatorRange
  }
}

module dns 'modules/dns.bicep' = if (makesZones) {
  name: 'dns-${token}'
  params: {
    linkName: names.network
    tags: allTags
    networkId: networkId
    names: map(filter(items(zoneNames), zone => !contains(givenZones, zone.key)), zone => zone.value)
  }
  dependsOn: [network]
}

module monitoring 'modules/monitoring.bicep' = {
  name: 'monitoring-${token}'
  params: {
    workspaceName: names.workspace
    componentName: names.component
    place: place
    retentionDays: retentionDays
    dailyCapGb: dailyCapGb
    existingWorkspaceId: existingIds.workspace
    workbookTitle: 'Credentials: ${environmentName}'
    senders: map(identities.outputs.identities, identity => identity.principalId)
  }
}

module authStore 'modules/store.bicep' = {
  name: 'auth-store-${token}'
  params: {
    name: names.authStore
    place: place
    sku: trial ? 'Standard_LRS' : storageSku
    locked: resourceLocks
    tables: code.tables.auth
    containers: concat(code.containers.auth, ['package-core', 'package-client'])
    softDeleteDays: softDeleteDays
    subnetId: subnetIds.authEndpoints
    zoneIds: zoneIds
    grants: [
      { principalId: identities.outputs.identities[0].principalId, exceptContainers: [] }
      // Who breaks the public app must not put a package of their own into Core's place, nor take the backups along.
      { principalId: identities.outputs.identities[1].principalId, exceptContainers: ['package-core', 'backups'] }
    ]
  }
  dependsOn: [network, dns]
}

module connectorStore 'modules/store.bicep' = {
  name: 'connector-store-${token}'
  params: {
    name: names.connectorStore
    place: place
    sku: trial ? 'Standard_LRS' : storageSku
    locked: resourceLocks
    tables: concat(code.tables.connector, [ofConnector.CLOUD_TABLES_SHIPMENTS_TABLE_NAME])
    containers: concat(code.containers.connector, ['configuration', 'package-connector'])
    softDeleteDays: softDeleteDays
    subnetId: subnetIds.connectorEndpoints
    zoneIds: zoneIds
    grants: [{ principalId: identities.outputs.identities[2].principalId, exceptContainers: [] }]
  }
  dependsOn: [network, dns]
}

module authVault 'modules/vault.bicep' = {
  name: 'auth-vault-${token}'
  params: {
    name: names.authVault
    place: place
    subnetId: subnetIds.authEndpoints
    zoneId: zoneIds.vault
    locked: resourceLocks
    trial: trial
    workspaceId: monitoring.outputs.workspaceId
    dataEncryptionKey: newKeys.?authData ?? ''
    passwordPepper: newKeys.?authPepper ?? ''
    keysExpireOn: keysExpireOn
    tokenHashesName: takesStaticTokens ? 'core-api-tokens' : ''
    tokenWriter: identities.outputs.identities[0].principalId
    readers: [identities.outputs.identities[0].principalId, identities.outputs.identities[1].principalId]
  }
  dependsOn: [
    network
    dns
    // Its endpoints are in the same subnet, and Azure may refuse two at once.
    authStore
  ]
}

module connectorVault 'modules/vault.bicep' = {
  name: 'connector-vault-${token}'
  params: {
    name: names.connectorVault
    place: place
    subnetId: subnetIds.connectorEndpoints
    zoneId: zoneIds.vault
    locked: resourceLocks
    trial: trial
    workspaceId: monitoring.outputs.workspaceId
    dataEncryptionKey: newKeys.?connectorData ?? ''
    keysExpireOn: keysExpireOn
    tokenHashesName: takesStaticTokens ? 'connector-api-tokens' : ''
    tokenWriter: identities.outputs.identities[2].principalId
    readers: [identities.outputs.identities[2].principalId]
  }
  dependsOn: [
    network
    dns
    // Its endpoints are in the same subnet, and Azure may refuse two at once.
    connectorStore
  ]
}

module mailOrigin 'modules/mail-domain.bicep' = {
  name: 'mail-origin-${token}'
  params: {
    name: names.mailService
    tags: allTags
    domainName: mailDomain
    dataLocation: mailDataLocation
  }
}

module mail 'modules/mail.bicep' = {
  name: 'mail-${token}'
  params: {
    name: names.communication
    tags: allTags
    dataLocation: mailDataLocation
    mailServiceName: names.mailService
    domainName: mailDomain
    domainId: mailOrigin.outputs.domainId
    linked: mailDomainLinked || mailOrigin.outputs.verified
    senderName: mailSender.name
    senderDisplayName: mailSender.displayName
    principalId: identities.outputs.identities[2].principalId
  }
}

var common = {
  place: place
  nodeVersion: nodeVersion
  maximumInstanceCount: maximumInstanceCount
  zoneRedundant: zoneRedundant
  trial: trial
  bodyLimitBytes: code.hostBodyLimitBytes
  instanceMemoryMB: instanceMemoryMB
  insightsConnectionString: monitoring.outputs.connectionString
  proxyIdHeader: everyApp.PROXY_ID_HEADER
  proxySource: proxySource
  coreRanges: coreRanges
}

module core 'modules/app.bicep' = {
  name: 'core-${token}'
  params: {
    name: names.core
    common: common
    api: 'core'
    identity: identities.outputs.identities[0]
    subnetId: subnetIds.core
    endpointSubnetId: trial ? '' : subnetIds.coreEndpoint
    endpointZoneId: zoneIds.sites
    alwaysReadyInstances: 0
    store: authStore.outputs.store
    token: token
    proxyId: ''
    trustedProxies: everyApp.TRUSTED_PROXIES
    settings: union(everyApp, ofAuth, {
      PUBLIC_BASE_URL: publicBaseUrls.core
      CLOUD_KEY_VAULT_ENDPOINT: authVault.outputs.endpoint
    })
  }
}

module client 'modules/app.bicep' = {
  name: 'client-${token}'
  params: {
    name: names.client
    common: common
    api: 'client'
    identity: identities.outputs.identities[1]
    subnetId: subnetIds.client
    alwaysReadyInstances: clientAlwaysReadyInstances
    store: authStore.outputs.store
    token: token
    proxyId: proxyIds.client
    trustedProxies: clientTrustedProxies
    settings: union(everyApp, ofAuth, {
      PUBLIC_BASE_URL: publicBaseUrls.client
      CLOUD_KEY_VAULT_ENDPOINT: authVault.outputs.endpoint
    })
  }
}

module connector 'modules/app.bicep' = {
  name: 'connector-${token}'
  params: {
    name: names.connector
    common: common
    api: 'connector'
    identity: identities.outputs.identities[2]
    subnetId: subnetIds.connector
    alwaysReadyInstances: 0
    store: connectorStore.outputs.store
    token: token
    proxyId: proxyIds.connector
    trustedProxies: connectorTrustedProxies
    settings: union(everyApp, ofConnector, {
      PUBLIC_BASE_URL: publicBaseUrls.connector
      CLOUD_KEY_VAULT_ENDPOINT: connectorVault.outputs.endpoint
      EMAIL_API_SEND_ENDPOINT: mail.outputs.endpoint
      EMAIL_SENDER_ADDRESS: '${toLower(mailSender.name)}@${mailOrigin.outputs.senderDomain}'
    })
  }
}

module alerts 'modules/alerts.bicep' = {
  name: 'alerts-${token}'
  params: {
    name: 'alert-${token}'
    place: place
    componentId: monitoring.outputs.componentId
    workspaceId: monitoring.outputs.workspaceId
    vaultNames: [names.authVault, names.connectorVault]
    mailTo: listed(alertMailTo)
    jobWindow: alertJobWindow
    appNames: { core: names.core, client: names.client, connector: names.connector }
    backups: everyApp.CRON_BACKUP_SCHEDULE != 'none'
    // The timer is registered only if there is a sink; 'none' keeps the number of a removed one.
    events: !empty(filter(split(ofConnector.EVENT_SINK_URLS, ','), sink => !contains(['', 'none'], trim(sink))))
    existingActionGroupId: existingIds.actionGroup
  }
}

module availability 'modules/availability.bicep' = {
  name: 'availability-${token}'
  params: {
    // A proxy keeps the tests from the app's own address.
    tests: [
      {
        name: 'health-client-${token}'
        enabled: availabilityTests && (empty(proxyIds.client) || !empty(publicBaseUrls.client))
        url: empty(publicBaseUrls.client) ? client.outputs.url : publicBaseUrls.client
      }
      {
        name: 'health-connector-${token}'
        enabled: availabilityTests && (empty(proxyIds.connector) || !empty(publicBaseUrls.connector))
        url: empty(publicBaseUrls.connector) ? connector.outputs.url : publicBaseUrls.connector
      }
    ]
    place: place
    componentId: monitoring.outputs.componentId
    actionGroupId: alerts.outputs.actionGroupId
  }
}

@description('Address of Core, which answers inside the network alone.')
output CORE_URL string = core.outputs.url

@description('Address of Client.')
output CLIENT_URL string = client.outputs.url

@description('Address of the connector.')
output CONNECTOR_URL string = connector.outputs.url

@description('Name of the app of Core.')
output CORE_APP_NAME string = names.core

@description('Name of the app of Client.')
output CLIENT_APP_NAME string = names.client

@description('Name of the app of the connector.')
output CONNECTOR_APP_NAME string = names.connector

@description('Name of the network, for peerings and machines of your own.')
output NETWORK_NAME string = ownSubnets ? networkParts[8] : ''

@description('Name of the vault of the authentication server.')
output AUTH_VAULT_NAME string = names.authVault

@description('Name of the vault of the connector.')
output CONNECTOR_VAULT_NAME string = names.connectorVault

@description('Name of the storage account of the authentication server.')
output AUTH_STORAGE_NAME string = names.authStore

@description('Name of the storage account of the connector.')
output CONNECTOR_STORAGE_NAME string = names.connectorStore

@description('Object id of the identity of Core, for roles on resources of yours, as a second storage account for backups.')
output CORE_PRINCIPAL_ID string = identities.outputs.identities[0].principalId

@description('Object id of the identity of the connector, which an identity provider of kind B trusts.')
output CONNECTOR_PRINCIPAL_ID string = identities.outputs.identities[2].principalId

@description('Name of the mail service, for the verification of its domain.')
output MAIL_SERVICE_NAME string = names.mailService

@description('Domain that PIN emails come from.')
output MAIL_DOMAIN_NAME string = mailDomain

@description('Whether PIN emails can be sent: every DNS record was found, and the domain is linked.')
output MAIL_DOMAIN_VERIFIED bool = mailOrigin.outputs.verified

@description('DNS records of the mail domain to publish, each with type, name, value and ttl.')
output MAIL_DNS_RECORDS DnsRecord[] = mailOrigin.outputs.dnsRecords
