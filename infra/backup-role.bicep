metadata description = 'Lets Core and the connector each write its own backups, and nothing else, in the container backups of a second storage account: az deployment group create in the resource group of that account.'

targetScope = 'resourceGroup'

@description('Name of the second storage account. Its container backups must exist.')
param accountName string

@description('Object id of the identity of Core: CORE_PRINCIPAL_ID of the azd environment.')
param corePrincipalId string

@description('Object id of the identity of the connector: CONNECTOR_PRINCIPAL_ID of the azd environment.')
param connectorPrincipalId string

// The first segment of the path of each backup is its service.
var services = [
  { path: 'auth/', principalId: corePrincipalId }
  { path: 'connector/', principalId: connectorPrincipalId }
]

var blobs = 'Microsoft.Storage/storageAccounts/blobServices/containers/blobs'
var isList = 'ActionMatches{\'${blobs}/read\'} AND SubOperationMatches{\'Blob.List\'}'
var otherActions = map(['write', 'add/action', 'delete'], action => '!(ActionMatches{\'${blobs}/${action}\'})')
// A list of blobs has no path but a prefix.
var isNoCallOfBlob = join(concat(['!(ActionMatches{\'${blobs}/read\'} AND NOT SubOperationMatches{\'Blob.List\'})'], otherActions), ' AND ')

var storageBlobDataContributor = subscriptionResourceId('Microsoft.Authorization/roleDefinitions', 'ba92f5b4-2d11-453d-a403-e96b0029c9fe')

resource account 'Microsoft.Storage/storageAccounts@2026-04-01' existing = {
  name: accountName
}

resource blobService 'Microsoft.Storage/storageAccounts/blobServices@2026-04-01' existing = {
  parent: account
  name: 'default'
}

resource container 'Microsoft.Storage/storageAccounts/blobServices/containers@2026-04-01' existing = {
  parent: blobService
  name: 'backups'
}

resource roles 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for service in services: {
    scope: container
    name: guid(container.id, service.principalId, storageBlobDataContributor)
    properties: {
      roleDefinitionId: storageBlobDataContributor
      principalId: service.principalId
      principalType: 'ServicePrincipal'
      condition: '((${isNoCallOfBlob}) OR (@Resource[${blobs}:path] StringStartsWith \'${service.path}\')) AND (!(${isList}) OR (@Request[${blobs}:prefix] StringStartsWith \'${service.path}\'))'
      conditionVersion: '2.0'
    }
  }
]
