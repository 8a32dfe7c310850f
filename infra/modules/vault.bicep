metadata description = 'The vault of one service, closed to the internet, and the secrets that are made once.'

import { Place, roleIds } from '../types.bicep'

@description('Name of the vault.')
@minLength(3)
@maxLength(24)
param name string

@description('Region and tags.')
param place Place

@description('Whether the vault cannot be deleted before its lock is.')
param locked bool

@description('Whether the vault is for trying out: it can be purged.')
param trial bool

@description('Subnet of the private endpoint; empty: the vault answers on the internet, to those who have a role.')
param subnetId string

@description('Private DNS zone of vaults.')
param zoneId string

@description('Workspace that keeps the audit log.')
param workspaceId string

@description('32 random bytes in base64url. It becomes the key that seals secrets in rows where there is none yet, and is thrown away otherwise; empty makes none.')
@secure()
param dataEncryptionKey string

@description('32 random bytes in base64url for the pepper of passwords; empty makes none, as in the service that has none. It is used where there is none yet.')
@secure()
param passwordPepper string = ''

@description('When new keys expire, in seconds since 1970.')
param keysExpireOn int

@description('Name of the secret whose versions hold the hashes of static API tokens; empty where no such tokens are accepted.')
param tokenHashesName string

@description('Object ids of the identities that read the secrets.')
param readers string[]

@description('Object id of the identity that writes the secret of the token hashes.')
param tokenWriter string

var isPrivate = !empty(subnetId)
resource vault 'Microsoft.KeyVault/vaults@2026-02-01' = {
  name: name
  location: place.location
  tags: place.tags
  properties: {
    tenantId: tenant().tenantId
    sku: { family: 'A', name: 'standard' }
    enableRbacAuthorization: true
    enableSoftDelete: true
    // Once on, it cannot be switched off.
    enablePurgeProtection: trial ? null : true
    // The same in a trial: it cannot be changed later.
    softDeleteRetentionInDays: 90
    publicNetworkAccess: isPrivate ? 'Disabled' : 'Enabled'
    networkAcls: { bypass: 'None', defaultAction: isPrivate ? 'Deny' : 'Allow' }
  }
}

resource lock 'Microsoft.Authorization/locks@2020-05-01' = if (locked) {
  scope: vault
  name: 'no-deletion'
  properties: { level: 'CanNotDelete', notes: 'Without its keys nothing that is stored or backed up opens.' }
}

// The secrets and the endpoint, one after the other: each changes the vault, which refuses that while something else does.
@onlyIfNotExists()
resource dataKey 'Microsoft.KeyVault/vaults/secrets@2026-02-01' = if (!empty(dataEncryptionKey)) {
  parent: vault
  name: 'data-encryption-key'
  properties: {
    value: dataEncryptionKey
    contentType: '32 bytes, base64url'
    attributes: { exp: keysExpireOn }
  }
}

@onlyIfNotExists()
resource pepper 'Microsoft.KeyVault/vaults/secrets@2026-02-01' = if (!empty(passwordPepper)) {
  parent: vault
  name: 'password-pepper'
  properties: {
    value: passwordPepper
    contentType: '32 bytes, base64url'
    attributes: { exp: keysExpireOn }
  }
  dependsOn: [
    dataKey
  ]
}

// The app may write this secret and no other, so it must be there before the role that says so. Each static token becomes a version; this
// one has no tags and is no token.
@onlyIfNotExists()
resource tokenHashes 'Microsoft.KeyVault/vaults/secrets@2026-02-01' = if (!empty(tokenHashesName)) {
  parent: vault
  name: empty(tokenHashesName) ? 'none' : tokenHashesName
  properties: { value: 'none', contentType: 'text/plain' }
  dependsOn: [
    dataKey
    pepper
  ]
}

resource audit 'Microsoft.Insights/diagnosticSettings@2021-05-01-preview' = {
  scope: vault
  name: 'audit'
  properties: {
    workspaceId: workspaceId
    logs: [{ category: 'AuditEvent', enabled: true }]
  }
}

resource endpoint 'Microsoft.Network/privateEndpoints@2025-09-01' = if (isPrivate) {
  name: '${name}-vault'
  location: place.location
  tags: place.tags
  properties: {
    subnet: { id: subnetId }
    privateLinkServiceConnections: [{ name: 'vault', properties: { privateLinkServiceId: vault.id, groupIds: ['vault'] } }]
  }
  dependsOn: [
    dataKey
    pepper
    tokenHashes
  ]
}

resource endpointRecords 'Microsoft.Network/privateEndpoints/privateDnsZoneGroups@2025-09-01' = if (isPrivate && !empty(zoneId)) {
  parent: endpoint
  name: 'default'
  properties: { privateDnsZoneConfigs: [{ name: 'vault', properties: { privateDnsZoneId: zoneId } }] }
}

resource secretReaders 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for reader in readers: {
    scope: vault
    name: guid(vault.id, reader, 'Key Vault Secrets User')
    properties: {
      roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', roleIds.keyVaultSecretsUser)
      principalId: reader
      // Else an identity that was just made may be unknown to the directory that is asked.
      principalType: 'ServicePrincipal'
    }
  }
]

resource tokenOfficer 'Microsoft.Authorization/roleAssignments@2022-04-01' = if (!empty(tokenHashesName)) {
  scope: tokenHashes
  name: guid(vault.id, tokenHashesName, tokenWriter, 'Key Vault Secrets Officer')
  properties: {
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', roleIds.keyVaultSecretsOfficer)
    principalId: tokenWriter
    principalType: 'ServicePrincipal'
  }
}

@description('Address of the vault.')
output endpoint string = vault.properties.vaultUri
