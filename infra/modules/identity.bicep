metadata description = 'The identity of one app: a new one, or one of yours.'

@description('Name of a new identity.')
param name string

@description('Region.')
param location string

@description('Tags of a new identity.')
param tags object

@description('Id of an identity of yours; empty makes one.')
param existingId string

var parts = split(empty(existingId) ? resourceGroup().id : existingId, '/')

resource made 'Microsoft.ManagedIdentity/userAssignedIdentities@2024-11-30' = if (empty(existingId)) {
  name: name
  location: location
  tags: tags
}

resource given 'Microsoft.ManagedIdentity/userAssignedIdentities@2024-11-30' existing = if (!empty(existingId)) {
  scope: resourceGroup(parts[2], parts[4])
  name: last(parts)
}

@description('Id of the identity.')
output id string = empty(existingId) ? made!.id : existingId

@description('Object id of the identity.')
output principalId string = empty(existingId) ? made!.properties.principalId : given!.properties.principalId

@description('Client id of the identity.')
output clientId string = empty(existingId) ? made!.properties.clientId : given!.properties.clientId
