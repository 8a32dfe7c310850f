metadata description = 'An identity for each app: a new one, or one of yours.'

import { ByApp, Identity, Place } from '../types.bicep'

@description('Last part of the names of new identities.')
param token string

@description('Region and tags of new identities.')
param place Place

@description('Ids of identities of yours; an empty one is made.')
param existingIds ByApp

// In the order of the outputs.
var apps = [
  { name: 'core', existingId: existingIds.core }
  { name: 'client', existingId: existingIds.client }
  { name: 'connector', existingId: existingIds.connector }
]
// '', subscriptions, its id, resourceGroups, its name, and so on.
var ids = map(apps, app => empty(app.existingId) ? resourceGroup().id : app.existingId)

resource made 'Microsoft.ManagedIdentity/userAssignedIdentities@2024-11-30' = [
  for app in apps: if (empty(app.existingId)) {
    name: 'id-${app.name}-${token}'
    location: place.location
    tags: place.tags
  }
]

resource theirs 'Microsoft.ManagedIdentity/userAssignedIdentities@2024-11-30' existing = [
  for (app, position) in apps: if (!empty(app.existingId)) {
    scope: resourceGroup(split(ids[position], '/')[2], split(ids[position], '/')[4])
    name: last(split(ids[position], '/'))
  }
]

@description('The identities of Core, Client and the connector.')
output identities Identity[] = [
  for (app, position) in apps: {
    id: empty(app.existingId) ? made[position]!.id : app.existingId
    principalId: empty(app.existingId) ? made[position]!.properties.principalId : theirs[position]!.properties.principalId
    clientId: empty(app.existingId) ? made[position]!.properties.clientId : theirs[position]!.properties.clientId
  }
]
