metadata description = 'The storage account of one wing, closed to the internet, with its tables and containers.'

@description('Name of the storage account.')
@minLength(3)
@maxLength(24)
param name string

@description('Region.')
param location string

@description('Tags of every resource.')
param tags object

@description('How many copies are kept, and where.')
param sku string

@description('Tables of the wing.')
param tables string[]

@description('Containers of the wing, those of the packages included.')
param containers string[]

@description('For how many days deleted blobs and containers can be brought back.')
param softDeleteDays int

@description('Subnet of the private endpoints.')
param subnetId string

@description('Private DNS zones by part.')
param zoneIds object

resource account 'Microsoft.Storage/storageAccounts@2026-04-01' = {
  name: name
  location: location
  tags: tags
  kind: 'StorageV2'
  sku: {
    name: sku
  }
  properties: {
    accessTier: 'Hot'
    allowBlobPublicAccess: false
    allowCrossTenantReplication: false
    allowSharedKeyAccess: false
    defaultToOAuthAuthentication: true
    minimumTlsVersion: 'TLS1_2'
    publicNetworkAccess: 'Disabled'
    supportsHttpsTrafficOnly: true
    networkAcls: {
      bypass: 'None'
      defaultAction: 'Deny'
    }
  }
}

resource blobService 'Microsoft.Storage/storageAccounts/blobServices@2026-04-01' = {
  parent: account
  name: 'default'
  properties: {
    deleteRetentionPolicy: {
      enabled: true
      days: softDeleteDays
    }
    containerDeleteRetentionPolicy: {
      enabled: true
      days: softDeleteDays
    }
  }
}

resource containersOfWing 'Microsoft.Storage/storageAccounts/blobServices/containers@2026-04-01' = [
  for container in containers: {
    parent: blobService
    name: container
    properties: {
      publicAccess: 'None'
    }
  }
]

resource tableService 'Microsoft.Storage/storageAccounts/tableServices@2026-04-01' = {
  parent: account
  name: 'default'
}

resource tablesOfWing 'Microsoft.Storage/storageAccounts/tableServices/tables@2026-04-01' = [
  for table in tables: {
    parent: tableService
    name: table
  }
]

module endpoints 'private-endpoint.bicep' = [
  for part in ['blob', 'table']: {
    params: {
      name: '${name}-${part}'
      location: location
      tags: tags
      subnetId: subnetId
      targetId: account.id
      group: part
      zoneId: zoneIds[part]
    }
  }
]

@description('Address of the blobs, with a slash at the end.')
output blobEndpoint string = account.properties.primaryEndpoints.blob

@description('Address of the tables, with a slash at the end.')
output tableEndpoint string = account.properties.primaryEndpoints.table
