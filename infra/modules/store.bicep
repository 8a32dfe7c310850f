metadata description = 'The storage account of one service, closed to the internet, with its tables and containers.'

import { Grant, Place, roleIds, Store, Zones } from '../types.bicep'

@description('Name of the storage account.')
@minLength(3)
@maxLength(24)
param name string

@description('Region and tags.')
param place Place

@description('How many copies are kept, and where.')
param sku string

@description('Tables of the service.')
param tables string[]

@description('Containers of the service, those of the packages included.')
param containers string[]

@description('For how many days deleted blobs and containers can be brought back.')
param softDeleteDays int

@description('Whether the account cannot be deleted before its lock is.')
param locked bool

@description('Subnet of the private endpoints; empty: the account answers on the internet, to those who have a role.')
param subnetId string

@description('Private DNS zones by part.')
param zoneIds Zones

@description('Which apps have access.')
param grants Grant[]

var isPrivate = !empty(subnetId)

resource account 'Microsoft.Storage/storageAccounts@2026-04-01' = {
  name: name
  location: place.location
  tags: place.tags
  kind: 'StorageV2'
  sku: { name: sku }
  properties: {
    accessTier: 'Hot'
    allowBlobPublicAccess: false
    allowCrossTenantReplication: false
    allowSharedKeyAccess: false
    defaultToOAuthAuthentication: true
    // Only possible when the account is made.
    encryption: {
      keySource: 'Microsoft.Storage'
      requireInfrastructureEncryption: true
      services: { blob: { enabled: true, keyType: 'Account' } }
    }
    minimumTlsVersion: 'TLS1_2'
    publicNetworkAccess: isPrivate ? 'Disabled' : 'Enabled'
    supportsHttpsTrafficOnly: true
    networkAcls: { bypass: 'None', defaultAction: isPrivate ? 'Deny' : 'Allow' }
  }
}

resource blobService 'Microsoft.Storage/storageAccounts/blobServices@2026-04-01' = {
  parent: account
  name: 'default'
  properties: {
    deleteRetentionPolicy: { enabled: true, days: softDeleteDays }
    containerDeleteRetentionPolicy: { enabled: true, days: softDeleteDays }
  }
}

resource serviceContainers 'Microsoft.Storage/storageAccounts/blobServices/containers@2026-04-01' = [
  for container in containers: {
    parent: blobService
    name: container
    properties: { publicAccess: 'None' }
  }
]

resource lock 'Microsoft.Authorization/locks@2020-05-01' = if (locked) {
  scope: account
  name: 'no-deletion'
  properties: { level: 'CanNotDelete', notes: 'Users, orders and backups.' }
}

resource tableService 'Microsoft.Storage/storageAccounts/tableServices@2026-04-01' = {
  parent: account
  name: 'default'
}

resource serviceTables 'Microsoft.Storage/storageAccounts/tableServices/tables@2026-04-01' = [
  for table in tables: {
    parent: tableService
    name: table
  }
]

// Last, and one after the other: an endpoint writes to the account, which refuses that while something else does.
var parts = isPrivate ? ['blob', 'table'] : []

@batchSize(1)
resource endpoints 'Microsoft.Network/privateEndpoints@2025-09-01' = [
  for part in parts: {
    name: '${name}-${part}'
    location: place.location
    tags: place.tags
    properties: {
      subnet: { id: subnetId }
      privateLinkServiceConnections: [{ name: part, properties: { privateLinkServiceId: account.id, groupIds: [part] } }]
    }
    dependsOn: [
      serviceContainers
      serviceTables
    ]
  }
]

resource endpointRecords 'Microsoft.Network/privateEndpoints/privateDnsZoneGroups@2025-09-01' = [
  for (part, position) in parts: if (!empty(zoneIds[part])) {
    parent: endpoints[position]
    name: 'default'
    properties: { privateDnsZoneConfigs: [{ name: part, properties: { privateDnsZoneId: zoneIds[part] } }] }
  }
]

var blobActions = map(
  ['read', 'write', 'add/action', 'delete', 'runAsSuperUser/action'],
  action => '!(ActionMatches{\'Microsoft.Storage/storageAccounts/blobServices/containers/blobs/${action}\'})'
)
var conditions = map(
  grants,
  grant =>
    join(
      map(
        grant.exceptContainers,
        container => '@Resource[Microsoft.Storage/storageAccounts/blobServices/containers:name] StringNotEquals \'${container}\''
      ),
      ' AND '
    )
)

// The host makes containers of its own and holds leases in them.
resource blobOwners 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for (grant, position) in grants: {
    scope: account
    name: guid(account.id, grant.principalId, 'Storage Blob Data Owner')
    properties: {
      roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', roleIds.storageBlobDataOwner)
      principalId: grant.principalId
      // Else an identity that was just made may be unknown to the directory that is asked.
      principalType: 'ServicePrincipal'
      condition: empty(conditions[position]) ? null : '((${join(blobActions, ' AND ')}) OR (${conditions[position]}))'
      conditionVersion: empty(conditions[position]) ? null : '2.0'
    }
  }
]

resource tableContributors 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for grant in grants: {
    scope: account
    name: guid(account.id, grant.principalId, 'Storage Table Data Contributor')
    properties: {
      roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', roleIds.storageTableDataContributor)
      principalId: grant.principalId
      principalType: 'ServicePrincipal'
    }
  }
]

@description('The account.')
output store Store = {
  name: name
  blobs: account.properties.primaryEndpoints.blob
  tables: account.properties.primaryEndpoints.table
}
