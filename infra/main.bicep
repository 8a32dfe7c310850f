metadata description = 'An authentication server and a credential connector on Azure Functions: three apps, two services that cannot reach each other.'

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
@allowed([512, 2048, 4096])
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

@description('A cheap set for trying out, never for real data: stores and vaults answer on the internet, where roles alone protect them, Core answers to coreDeployRange, and vaults can be purged.')
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

@description('Address range that may deploy to Core over the internet, as in 203.0.113.7/32. It reaches the deployment site alone, with an Entra token. Empty: only from inside.')
param coreDeployRange string = ''

@description('Id of a NAT gateway of yours for the subnets of the apps and of machines in additionalSubnets, which then have no other way out.')
param natGatewayId string = ''

@description('Id of a route table of yours for the same subnets, as to a firewall, which then have no other way out.')
param routeTableId string = ''

@description('Id of a virtual network of yours, in the region of the deployment, for the subnets and their security groups. Empty: one is created.')
param existingNetworkId string = ''

@description('Ids of subnets of yours, by use: core, client, connector, authEndpoints, connectorEndpoints, coreEndpoint. All or none; then no network is made.')
param existingSubnetIds object = {}

@description('Ids of private DNS zones of yours, by use: blob, table, vault, sites. With a network of the template an empty one is made; with subnets of yours all are needed. Unless privateDns is none.')
param existingDnsZoneIds object = {}

@description('none: no DNS record of a private endpoint is made, because a policy of yours makes them.')
@allowed(['own', 'none'])
param privateDns string = 'own'

@description('Ids of identities of yours, by app: core, client, connector. An empty one is made.')
param existingIdentityIds object = {}

@description('Id of a Log Analytics workspace of yours; empty makes one.')
param existingWorkspaceId string = ''

@description('Id of an action group of yours that alerts go to; empty makes one.')
param existingActionGroupId string = ''

// Of the callers

@description('The Entra tenant whose tokens are taken; empty: the tenant of the subscription.')
param tenantId string = ''

@description('Address of Core that answers name, where it is not the app\'s own.')
param corePublicBaseUrl string = ''

@description('Address of Client that answers name, where it is not the app\'s own.')
param clientPublicBaseUrl string = ''

@description('Address of the connector that answers name, where it is not the app\'s own.')
param connectorPublicBaseUrl string = ''

@description('Id that the proxy before Client sends with every call, as the Front Door id of its profile. Client then refuses every other call. Empty: callers reach Client directly.')
param clientProxyId string = ''

@description('The same for the proxy before the connector.')
param connectorProxyId string = ''

@description('Where calls of these proxies come from: a service tag, or an address range as in 203.0.113.0/24.')
@minLength(1)
param proxySource string = 'AzureFrontDoor.Backend'

@description('Settings of every app that differ from the code\'s own values, by name (docs/settings.md). Empty ones count as not given.')
param everyAppSettings object = {}

@description('Settings of the authentication server that differ, by name.')
param authSettings object = {}

@description('Settings of the connector that differ, by name.')
param connectorSettings object = {}

// Of the mail

@description('Domain that PIN mails come from, as in keys.example.com. You must be able to add DNS records to it.')
@minLength(3)
param mailDomain string

@description('What is before the @ in the address that PIN mails come from. Every domain has donotreply; any other name is refused until the sending limits of the domain are raised.')
@minLength(1)
param mailSenderName string = 'donotreply'

@description('The name that recipients of PIN mails see.')
param mailSenderDisplayName string = 'Security keys'

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

@description('How the host sends telemetry: OpenTelemetry joins its spans with the app\'s, ApplicationInsights is the older way.')
@allowed(['OpenTelemetry', 'ApplicationInsights'])
param telemetryMode string = 'OpenTelemetry'

@description('A job that has not run for this long raises an alert. Longer than the longest interval of the CRON schedules.')
@allowed(['PT2H', 'PT3H', 'PT4H', 'PT6H', 'P1D'])
param alertJobWindow string = 'PT3H'

@description('Age in hours at which an unsent PIN mail raises an alert.')
@minValue(1)
param alertUnsentMailHours int = 24

@description('Days before its end at which a secret raises an alert.')
@minValue(1)
param alertExpiryDays int = 30

@description('Throttled calls of one peer in an hour that raise an alert.')
@minValue(1)
param alertThrottledCalls int = 50

// Made by the preprovision hook, new in each run; used only where the vault has none yet. They have defaults, because `azd up` asks a
// person for every parameter that has none, and does so before it runs a hook.

@description('Random key that seals the authentication server\'s secrets: 32 bytes, base64url. Empty makes none.')
@secure()
param authDataKey string = ''

@description('Random pepper of password hashes: 32 bytes, base64url. Empty makes none.')
@secure()
param authPepper string = ''

@description('Random key that seals the connector\'s secrets: 32 bytes, base64url. Empty makes none.')
@secure()
param connectorDataKey string = ''

@description('When keys that are made in this run expire, in seconds since 1970.')
param keysExpireOn int = 0

var token = uniqueString(resourceGroup().id, environmentName, nameSuffix)
var allTags = union(
  toObject(
    filter(split(resourceTags, ','), pair => contains(pair, '=')),
    pair => trim(split(pair, '=')[0]),
    pair => trim(join(skip(split(pair, '='), 1), '='))
  ),
  { 'azd-env-name': environmentName }
)
var furtherSubnets = map(filter(split(additionalSubnets, ','), pair => contains(pair, '=')), pair => {
  name: trim(split(pair, '=')[0])
  addressPrefix: trim(split(pair, '=')[1])
})

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

var everyApp = union(
  code.settings.everyApp,
  toObject(filter(items(everyAppSettings), setting => !empty(setting.value)), setting => setting.key, setting => setting.value)
)
var ofAuth = union(
  code.settings.auth,
  toObject(filter(items(authSettings), setting => !empty(setting.value)), setting => setting.key, setting => setting.value)
)
var ofConnector = union(
  code.settings.connector,
  { IDPA_ONLINE_ENDPOINT: environment().authentication.loginEndpoint },
  toObject(filter(items(connectorSettings), setting => !empty(setting.value)), setting => setting.key, setting => setting.value)
)

// An app without a proxy of its own is called directly if the other app has one. With no id at all the number stays as it is given, so
// that an app that trusts more proxies than the platform's own refuses to start.
var clientTrustedProxies = empty(clientProxyId) && !empty(connectorProxyId) ? '1' : everyApp.TRUSTED_PROXIES
var connectorTrustedProxies = empty(connectorProxyId) && !empty(clientProxyId) ? '1' : everyApp.TRUSTED_PROXIES

var takesStaticTokens = everyApp.CALLER_STATIC_TOKENS == 'true'

var apps = [
  'core'
  'client'
  'connector'
]

// Who may do what, where. Nothing else is allowed to any app.
var grants = concat(
  flatten(map(
    [
      { app: 'core', store: names.authStore, vault: names.authVault, except: [] }
      // Who breaks the public app must not put a package of their own into Core's place, nor take the backups along.
      { app: 'client', store: names.authStore, vault: names.authVault, except: ['package-core', 'backups'] }
      { app: 'connector', store: names.connectorStore, vault: names.connectorVault, except: [] }
    ],
    service => [
      // The host makes containers of its own and holds leases in them.
      { app: service.app, kind: 'storage', role: 'Storage Blob Data Owner', target: service.store, child: 'none', except: service.except }
      { app: service.app, kind: 'storage', role: 'Storage Table Data Contributor', target: service.store, child: 'none', except: [] }
      { app: service.app, kind: 'vault', role: 'Key Vault Secrets User', target: service.vault, child: 'none', except: [] }
      { app: service.app, kind: 'component', role: 'Monitoring Metrics Publisher', target: names.component, child: 'none', except: [] }
    ]
  )),
  takesStaticTokens
    ? [
        { app: 'core', kind: 'tokens', role: 'Key Vault Secrets Officer', target: names.authVault, child: 'core-api-tokens', except: [] }
        {
          app: 'connector'
          kind: 'tokens'
          role: 'Key Vault Secrets Officer'
          target: names.connectorVault
          child: 'connector-api-tokens'
          except: []
        }
      ]
    : []
)

var givenSubnets = union(
  { core: '', client: '', connector: '', authEndpoints: '', connectorEndpoints: '', coreEndpoint: '' },
  trial ? {} : existingSubnetIds
)
var givenZones = toObject(filter(items(existingDnsZoneIds), zone => !empty(zone.value)), zone => zone.key, zone => zone.value)
var givenIdentities = union({ core: '', client: '', connector: '' }, existingIdentityIds)
var ownSubnets = !trial && empty(givenSubnets.core)
// Ids that are known at the start, not outputs of modules: a preview (what-if) shows every resource then.
var networkId = empty(existingNetworkId) ? resourceId('Microsoft.Network/virtualNetworks', names.network) : existingNetworkId
// '', subscriptions, its id, resourceGroups, its name, providers, Microsoft.Network, virtualNetworks, its name.
var networkParts = split(networkId, '/')
var subnetPrefix = empty(existingNetworkId) ? '' : 'snet-${token}-'
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

module identities 'modules/identity.bicep' = [
  for app in apps: {
    params: {
      name: 'id-${app}-${token}'
      location: location
      tags: allTags
      existingId: givenIdentities[app]
    }
  }
]

module network 'modules/network.bicep' = if (ownSubnets) {
  scope: resourceGroup(networkParts[2], networkParts[4])
  params: {
    name: networkParts[8]
    exists: !empty(existingNetworkId)
    subnetPrefix: subnetPrefix
    groupPrefix: 'nsg-${token}-'
    natGatewayId: natGatewayId
    routeTableId: routeTableId
    location: location
    tags: allTags
    addressPrefix: networkPrefix
    additionalSubnets: furtherSubnets
    operatorRange: operatorRange
  }
}

module dns 'modules/dns.bicep' = if (makesZones) {
  params: {
    linkName: names.network
    tags: allTags
    networkId: networkId
    names: map(filter(items(zoneNames), zone => !contains(givenZones, zone.key)), zone => zone.value)
  }
  dependsOn: [
    network
  ]
}

module monitoring 'modules/monitoring.bicep' = {
  params: {
    workspaceName: names.workspace
    componentName: names.component
    location: location
    tags: allTags
    retentionDays: retentionDays
    dailyCapGb: dailyCapGb
    existingWorkspaceId: existingWorkspaceId
    workbookTitle: 'Credentials: ${environmentName}'
  }
}

module authStore 'modules/store.bicep' = {
  params: {
    name: names.authStore
    location: location
    tags: allTags
    sku: trial ? 'Standard_LRS' : storageSku
    locked: resourceLocks
    tables: code.tables.auth
    containers: concat(code.containers.auth, ['package-core', 'package-client'])
    softDeleteDays: softDeleteDays
    subnetId: subnetIds.authEndpoints
    zoneIds: zoneIds
  }
  dependsOn: [
    network
    dns
  ]
}

module connectorStore 'modules/store.bicep' = {
  params: {
    name: names.connectorStore
    location: location
    tags: allTags
    sku: trial ? 'Standard_LRS' : storageSku
    locked: resourceLocks
    tables: concat(code.tables.connector, [ofConnector.CLOUD_TABLES_SHIPMENTS_TABLE_NAME])
    containers: concat(code.containers.connector, ['configuration', 'package-connector'])
    softDeleteDays: softDeleteDays
    subnetId: subnetIds.connectorEndpoints
    zoneIds: zoneIds
  }
  dependsOn: [
    network
    dns
  ]
}

module authVault 'modules/vault.bicep' = {
  params: {
    name: names.authVault
    location: location
    tags: allTags
    subnetId: subnetIds.authEndpoints
    zoneId: zoneIds.vault
    locked: resourceLocks
    trial: trial
    workspaceId: monitoring.outputs.workspaceId
    dataEncryptionKey: authDataKey
    passwordPepper: authPepper
    keysExpireOn: keysExpireOn
    tokenHashesName: takesStaticTokens ? 'core-api-tokens' : ''
  }
  dependsOn: [
    network
    dns
    // Its endpoints are in the same subnet, and Azure may refuse two at once.
    authStore
  ]
}

module connectorVault 'modules/vault.bicep' = {
  params: {
    name: names.connectorVault
    location: location
    tags: allTags
    subnetId: subnetIds.connectorEndpoints
    zoneId: zoneIds.vault
    locked: resourceLocks
    trial: trial
    workspaceId: monitoring.outputs.workspaceId
    dataEncryptionKey: connectorDataKey
    keysExpireOn: keysExpireOn
    tokenHashesName: takesStaticTokens ? 'connector-api-tokens' : ''
  }
  dependsOn: [
    network
    dns
    // Its endpoints are in the same subnet, and Azure may refuse two at once.
    connectorStore
  ]
}

module mailOrigin 'modules/mail-domain.bicep' = {
  params: {
    name: names.mailService
    tags: allTags
    domainName: mailDomain
    dataLocation: mailDataLocation
  }
}

module mail 'modules/mail.bicep' = {
  params: {
    name: names.communication
    tags: allTags
    dataLocation: mailDataLocation
    mailServiceName: names.mailService
    domainName: mailDomain
    domainId: mailOrigin.outputs.domainId
    linked: mailDomainLinked || mailOrigin.outputs.verified
    senderName: mailSenderName
    senderDisplayName: mailSenderDisplayName
  }
}

module roles 'modules/role.bicep' = [
  for grant in grants: {
    params: {
      principalId: identities[indexOf(apps, grant.app)].outputs.principalId
      role: grant.role
      kind: grant.kind
      targetName: grant.target
      targetChild: grant.child
      exceptContainers: grant.except
    }
    dependsOn: [
      monitoring
      authStore
      connectorStore
      authVault
      connectorVault
    ]
  }
]

// Apart from the other roles, so that Core and Client do not wait for mail, and do not fail with it.
module mailRole 'modules/role.bicep' = {
  params: {
    principalId: identities[2].outputs.principalId
    // No narrower role of Azure's own can send.
    role: 'Communication and Email Service Owner'
    kind: 'mail'
    targetName: names.communication
  }
  dependsOn: [
    mail
  ]
}

module core 'modules/app.bicep' = {
  params: {
    name: names.core
    location: location
    tags: allTags
    api: 'core'
    identityId: identities[0].outputs.id
    identityClientId: identities[0].outputs.clientId
    subnetId: subnetIds.core
    nodeVersion: nodeVersion
    maximumInstanceCount: maximumInstanceCount
    bodyLimitBytes: code.hostBodyLimitBytes
    instanceMemoryMB: instanceMemoryMB
    alwaysReadyInstances: 0
    zoneRedundant: zoneRedundant
    trial: trial
    blobEndpoint: authStore.outputs.blobEndpoint
    tableEndpoint: authStore.outputs.tableEndpoint
    packageContainer: 'package-core'
    hostId: 'core-${token}'
    insightsConnectionString: monitoring.outputs.connectionString
    telemetryMode: telemetryMode
    proxyId: ''
    proxyIdHeader: everyApp.PROXY_ID_HEADER
    proxySource: proxySource
    trustedProxies: everyApp.TRUSTED_PROXIES
    deployRange: coreDeployRange
    settings: union(everyApp, ofAuth, {
      PUBLIC_BASE_URL: corePublicBaseUrl
      CLOUD_TENANT_ID: empty(tenantId) ? tenant().tenantId : tenantId
      CLOUD_KEY_VAULT_ENDPOINT: authVault.outputs.endpoint
    })
  }
  dependsOn: [
    roles
  ]
}

module corePrivateEndpoint 'modules/private-endpoint.bicep' = if (!trial) {
  params: {
    name: '${names.core}-site'
    location: location
    tags: allTags
    subnetId: subnetIds.coreEndpoint
    targetId: core.outputs.id
    group: 'sites'
    zoneId: zoneIds.sites
  }
  dependsOn: [
    network
    dns
  ]
}

module client 'modules/app.bicep' = {
  params: {
    name: names.client
    location: location
    tags: allTags
    api: 'client'
    identityId: identities[1].outputs.id
    identityClientId: identities[1].outputs.clientId
    subnetId: subnetIds.client
    nodeVersion: nodeVersion
    maximumInstanceCount: maximumInstanceCount
    bodyLimitBytes: code.hostBodyLimitBytes
    instanceMemoryMB: instanceMemoryMB
    alwaysReadyInstances: clientAlwaysReadyInstances
    zoneRedundant: zoneRedundant
    trial: trial
    blobEndpoint: authStore.outputs.blobEndpoint
    tableEndpoint: authStore.outputs.tableEndpoint
    packageContainer: 'package-client'
    hostId: 'client-${token}'
    insightsConnectionString: monitoring.outputs.connectionString
    telemetryMode: telemetryMode
    proxyId: clientProxyId
    proxyIdHeader: everyApp.PROXY_ID_HEADER
    proxySource: proxySource
    trustedProxies: clientTrustedProxies
    deployRange: ''
    settings: union(everyApp, ofAuth, {
      PUBLIC_BASE_URL: clientPublicBaseUrl
      CLOUD_TENANT_ID: empty(tenantId) ? tenant().tenantId : tenantId
      CLOUD_KEY_VAULT_ENDPOINT: authVault.outputs.endpoint
    })
  }
  dependsOn: [
    roles
  ]
}

module connector 'modules/app.bicep' = {
  params: {
    name: names.connector
    location: location
    tags: allTags
    api: 'connector'
    identityId: identities[2].outputs.id
    identityClientId: identities[2].outputs.clientId
    subnetId: subnetIds.connector
    nodeVersion: nodeVersion
    maximumInstanceCount: maximumInstanceCount
    bodyLimitBytes: code.hostBodyLimitBytes
    instanceMemoryMB: instanceMemoryMB
    alwaysReadyInstances: 0
    zoneRedundant: zoneRedundant
    trial: trial
    blobEndpoint: connectorStore.outputs.blobEndpoint
    tableEndpoint: connectorStore.outputs.tableEndpoint
    packageContainer: 'package-connector'
    hostId: 'connector-${token}'
    insightsConnectionString: monitoring.outputs.connectionString
    telemetryMode: telemetryMode
    proxyId: connectorProxyId
    proxyIdHeader: everyApp.PROXY_ID_HEADER
    proxySource: proxySource
    trustedProxies: connectorTrustedProxies
    deployRange: ''
    settings: union(everyApp, ofConnector, {
      PUBLIC_BASE_URL: connectorPublicBaseUrl
      CLOUD_TENANT_ID: empty(tenantId) ? tenant().tenantId : tenantId
      CLOUD_KEY_VAULT_ENDPOINT: connectorVault.outputs.endpoint
      EMAIL_API_SEND_ENDPOINT: mail.outputs.endpoint
      EMAIL_SENDER_ADDRESS: '${toLower(mailSenderName)}@${mailOrigin.outputs.senderDomain}'
    })
  }
  dependsOn: [
    roles
    mailRole
  ]
}

module alerts 'modules/alerts.bicep' = {
  params: {
    name: 'alert-${token}'
    location: location
    tags: allTags
    componentId: monitoring.outputs.componentId
    workspaceId: monitoring.outputs.workspaceId
    vaultNames: [names.authVault, names.connectorVault]
    mailTo: filter(map(split(alertMailTo, ','), address => trim(address)), address => !empty(address))
    jobWindow: alertJobWindow
    appNames: {
      core: names.core
      client: names.client
      connector: names.connector
    }
    backups: everyApp.CRON_BACKUP_SCHEDULE != 'none'
    // The timer is registered only if there is a sink; 'none' keeps the number of a removed one.
    events: !empty(filter(split(ofConnector.EVENT_SINK_URLS, ','), sink => !contains(['', 'none'], trim(sink))))
    unsentMailHours: alertUnsentMailHours
    expiryDays: alertExpiryDays
    throttledCalls: alertThrottledCalls
    existingActionGroupId: existingActionGroupId
  }
}

// A proxy keeps the tests from the app's own address.
module clientAvailability 'modules/availability.bicep' = {
  params: {
    name: 'health-client-${token}'
    enabled: availabilityTests && (empty(clientProxyId) || !empty(clientPublicBaseUrl))
    location: location
    tags: allTags
    url: empty(clientPublicBaseUrl) ? client.outputs.url : clientPublicBaseUrl
    componentId: monitoring.outputs.componentId
    actionGroupId: alerts.outputs.actionGroupId
  }
}

module connectorAvailability 'modules/availability.bicep' = {
  params: {
    name: 'health-connector-${token}'
    enabled: availabilityTests && (empty(connectorProxyId) || !empty(connectorPublicBaseUrl))
    location: location
    tags: allTags
    url: empty(connectorPublicBaseUrl) ? connector.outputs.url : connectorPublicBaseUrl
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
output CORE_PRINCIPAL_ID string = identities[0].outputs.principalId

@description('Object id of the identity of the connector, which an identity provider of kind B trusts.')
output CONNECTOR_PRINCIPAL_ID string = identities[2].outputs.principalId

@description('Name of the mail service, for the verification of its domain.')
output MAIL_SERVICE_NAME string = names.mailService

@description('Domain that PIN mails come from.')
output MAIL_DOMAIN_NAME string = mailDomain

@description('Whether PIN mails can be sent: every DNS record was found, and the domain is linked.')
output MAIL_DOMAIN_VERIFIED bool = mailOrigin.outputs.verified

@description('DNS records of the mail domain to publish, each with type, name, value and ttl.')
output MAIL_DNS_RECORDS array = mailOrigin.outputs.dnsRecords
