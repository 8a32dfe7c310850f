metadata description = 'One function app with its plan. It serves exactly one API, so Core never runs together with a public API.'

import { CoreRanges, Identity, Place, Store, Texts } from '../types.bicep'

@description('What all apps have in common; parameters of main.bicep have the same names.')
type Common = {
  place: Place
  nodeVersion: string
  maximumInstanceCount: int
  zoneRedundant: bool
  trial: bool
  @description('Largest body that the host reads.')
  bodyLimitBytes: string
  instanceMemoryMB: int
  insightsConnectionString: string
  proxyIdHeader: string
  proxySource: string
  coreRanges: CoreRanges
}

@description('What all apps have in common.')
param common Common

@description('Name of the app.')
param name string

@description('The API that the app serves.')
param api 'core' | 'client' | 'connector'

@description('The identity of the app.')
param identity Identity

@description('Subnet from which the app calls out; empty: the app is in no network.')
param subnetId string

@description('Instances that are kept ready for HTTP calls.')
param alwaysReadyInstances int

@description('Storage account of the service.')
param store Store

@description('Part of every name that is unique in the world.')
param token string

@description('Settings of the code.')
param settings Texts

@description('Subnet of a private endpoint; empty: the app has none.')
param endpointSubnetId string = ''

@description('Private DNS zone of apps; empty: something else makes the records.')
param endpointZoneId string = ''

@description('What the proxy before the app sends in the header `proxyIdHeader`; empty: there is no proxy before the app.')
param proxyId string

@description('How many proxies stand before the app, the platform\'s own included. With a proxy it is 2 at least. Core has none.')
param trustedProxies string

var closed = api == 'core'
var inNetwork = empty(subnetId) ? {} : { virtualNetworkSubnetId: subnetId, outboundVnetRouting: { allTraffic: true } }
var fromRanges = [
  for (range, position) in closed ? filter(items(common.coreRanges), range => !empty(range.value)) : []: {
    name: range.key
    description: range.key == 'deploy' ? 'The package comes from here.' : 'The first user is created from here.'
    priority: 100 + position
    action: 'Allow'
    ipAddress: range.value
  }
]
var proxied = !closed && !empty(proxyId)
var byRange = contains(common.proxySource, '/')
// The platform compares a few headers only, so another one is left to the app.
var byId = toLower(common.proxyIdHeader) == 'x-azure-fdid'

// Newer exporters record 5 traces a second by default. The alert of server errors counts recorded calls.
var everyTrace = {
  OTEL_TRACES_SAMPLER: 'microsoft.fixed_percentage'
  OTEL_TRACES_SAMPLER_ARG: '1.0'
}

resource plan 'Microsoft.Web/serverfarms@2025-03-01' = {
  name: '${name}-plan'
  location: common.place.location
  tags: common.place.tags
  kind: 'functionapp'
  sku: { name: 'FC1', tier: 'FlexConsumption' }
  properties: {
    reserved: true
    zoneRedundant: common.zoneRedundant
  }
}

resource site 'Microsoft.Web/sites@2025-03-01' = {
  name: name
  location: common.place.location
  tags: union(common.place.tags, { 'azd-service-name': api })
  kind: 'functionapp,linux'
  identity: {
    type: 'UserAssigned'
    userAssignedIdentities: { '${identity.id}': {} }
  }
  properties: {
    ...inNetwork
    serverFarmId: plan.id
    httpsOnly: true
    clientAffinityEnabled: false
    // Azure may not learn the triggers of a closed app by itself, and `az functionapp deployment source config-zip` never ends there:
    // infra/scripts/deploy-app.mjs does both (Azure/azure-functions-host#10169; Azure/azure-cli#30870, #31394).
    publicNetworkAccess: closed && empty(fromRanges) ? 'Disabled' : 'Enabled'
    functionAppConfig: {
      deployment: {
        storage: {
          type: 'blobContainer'
          value: '${store.blobs}package-${api}'
          authentication: { type: 'UserAssignedIdentity', userAssignedIdentityResourceId: identity.id }
        }
      }
      runtime: { name: 'node', version: common.nodeVersion }
      scaleAndConcurrency: {
        maximumInstanceCount: common.maximumInstanceCount
        instanceMemoryMB: common.instanceMemoryMB
        alwaysReady: alwaysReadyInstances == 0 ? [] : [{ name: 'http', instanceCount: alwaysReadyInstances }]
      }
    }
    siteConfig: {
      http20Enabled: true
      minTlsVersion: '1.2'
      scmMinTlsVersion: '1.2'
      // What comes by a private endpoint is not judged by these.
      ipSecurityRestrictionsDefaultAction: closed || proxied ? 'Deny' : 'Allow'
      ipSecurityRestrictions: proxied
        ? [
            {
              name: 'proxy'
              description: 'Callers come through the proxy.'
              priority: 100
              action: 'Allow'
              tag: byRange ? 'Default' : 'ServiceTag'
              ipAddress: common.proxySource
              ...(byId ? { headers: { 'x-azure-fdid': [proxyId] } } : {})
            }
          ]
        : filter(fromRanges, range => common.trial || range.name == 'setup')
      scmIpSecurityRestrictionsUseMain: false
      scmIpSecurityRestrictionsDefaultAction: closed ? 'Deny' : 'Allow'
      scmIpSecurityRestrictions: fromRanges
    }
  }
}

resource noFtpPassword 'Microsoft.Web/sites/basicPublishingCredentialsPolicies@2025-03-01' = {
  parent: site
  name: 'ftp'
  properties: { allow: false }
}

resource noDeployPassword 'Microsoft.Web/sites/basicPublishingCredentialsPolicies@2025-03-01' = {
  parent: site
  name: 'scm'
  properties: { allow: false }
}

// The settings of the template come last: no other setting can add an API or send the app to another identity.
resource appSettings 'Microsoft.Web/sites/config@2025-03-01' = {
  parent: site
  name: 'appsettings'
  properties: union(everyTrace, settings, {
    SERVICE_APIS: api
    TRUSTED_PROXIES: closed || (proxied && trustedProxies == '1') ? (proxied ? '2' : '1') : trustedProxies
    PROXY_ID: proxied ? proxyId : ''
    AZURE_CLIENT_ID: identity.clientId
    CLOUD_STORAGE_BLOB_ENDPOINT: store.blobs
    CLOUD_TABLES_ENDPOINT: store.tables
    // Beside the addresses: without the name the host may build its client before it has read all of them, and stays unhealthy or
    // refuses keys with 401 (Azure/azure-functions-host#11787, #11782, #11636).
    AzureWebJobsStorage__accountName: store.name
    AzureWebJobsStorage__blobServiceUri: store.blobs
    AzureWebJobsStorage__tableServiceUri: store.tables
    AzureWebJobsStorage__credential: 'managedidentity'
    AzureWebJobsStorage__clientId: identity.clientId
    AzureFunctionsWebHost__hostid: '${api}-${token}'
    // The host joins its spans with those of the app.
    AzureFunctionsJobHost__telemetryMode: 'OpenTelemetry'
    AzureWebJobsDisableHomepage: 'true'
    // The host reads a body into memory before the app can refuse it. Without a limit, a few anonymous bodies of 99 MB end it
    // (setting: Azure/azure-functions-host#7204).
    FUNCTIONS_REQUEST_BODY_SIZE_LIMIT: common.bodyLimitBytes
    // The host waits as long for its last spans when it stops; by default 10 s if the collector hangs.
    OTEL_EXPORTER_OTLP_TIMEOUT: '2000'
    APPLICATIONINSIGHTS_CONNECTION_STRING: common.insightsConnectionString
    APPLICATIONINSIGHTS_AUTHENTICATION_STRING: 'ClientId=${identity.clientId};Authorization=AAD'
  })
}

// Last: an endpoint writes to the app, which refuses that while something else does.
resource endpoint 'Microsoft.Network/privateEndpoints@2025-09-01' = if (!empty(endpointSubnetId)) {
  name: '${name}-site'
  location: common.place.location
  tags: common.place.tags
  properties: {
    subnet: { id: endpointSubnetId }
    privateLinkServiceConnections: [{ name: 'sites', properties: { privateLinkServiceId: site.id, groupIds: ['sites'] } }]
  }
  dependsOn: [
    noFtpPassword
    noDeployPassword
    appSettings
  ]
}

resource endpointRecords 'Microsoft.Network/privateEndpoints/privateDnsZoneGroups@2025-09-01' = if (!empty(endpointSubnetId) && !empty(endpointZoneId)) {
  parent: endpoint
  name: 'default'
  properties: { privateDnsZoneConfigs: [{ name: 'sites', properties: { privateDnsZoneId: endpointZoneId } }] }
}

@description('Address of the app.')
output url string = 'https://${site.properties.defaultHostName}'
