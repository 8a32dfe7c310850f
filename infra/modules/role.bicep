metadata description = 'One role for one identity on one resource.'

@description('Object id of the identity.')
param principalId string

@description('Name of the role.')
param role string

@description('Kind of the resource: storage, vault, tokens (one secret of a vault), component, mail.')
param kind string

@description('Name of the resource; of the vault where kind is tokens.')
param targetName string

@description('Name of the secret where kind is tokens.')
param targetChild string = 'none'

@description('Containers of a storage account whose blobs the role does not reach.')
param exceptContainers string[] = []

var roleIds = {
  'Storage Blob Data Owner': 'b7e6dc6d-f1e8-4753-8033-0f276bb0955b'
  'Storage Table Data Contributor': '0a9a7e1f-b9d0-4cc4-a60d-0319b160aaa3'
  'Key Vault Secrets User': '4633458b-17de-408a-b874-0445c86b69e6'
  'Key Vault Secrets Officer': 'b86a8fe4-44ce-4948-aee5-eccb2c155cd7'
  'Monitoring Metrics Publisher': '3913510d-42f4-4e42-8a64-420c390055eb'
  'Communication and Email Service Owner': '09976791-48a7-449e-bb21-39d1a415f350'
}

var roleDefinitionId = subscriptionResourceId('Microsoft.Authorization/roleDefinitions', roleIds[role])

var blobActions = map(
  ['read', 'write', 'add/action', 'delete', 'runAsSuperUser/action'],
  action => '!(ActionMatches{\'Microsoft.Storage/storageAccounts/blobServices/containers/blobs/${action}\'})'
)
var otherContainers = map(
  exceptContainers,
  container => '@Resource[Microsoft.Storage/storageAccounts/blobServices/containers:name] StringNotEquals \'${container}\''
)
var limits = empty(exceptContainers)
  ? {}
  : {
      condition: '((${join(blobActions, ' AND ')}) OR (${join(otherContainers, ' AND ')}))'
      conditionVersion: '2.0'
    }

var assignmentName = guid(resourceGroup().id, kind, targetName, targetChild, principalId, role)

resource account 'Microsoft.Storage/storageAccounts@2026-04-01' existing = if (kind == 'storage') {
  name: targetName
}

resource vault 'Microsoft.KeyVault/vaults@2026-02-01' existing = if (kind == 'vault' || kind == 'tokens') {
  name: targetName
}

resource tokenHashes 'Microsoft.KeyVault/vaults/secrets@2026-02-01' existing = if (kind == 'tokens') {
  parent: vault
  name: targetChild
}

resource component 'Microsoft.Insights/components@2020-02-02' existing = if (kind == 'component') {
  name: targetName
}

resource mail 'Microsoft.Communication/communicationServices@2026-03-18' existing = if (kind == 'mail') {
  name: targetName
}

resource onStorage 'Microsoft.Authorization/roleAssignments@2022-04-01' = if (kind == 'storage') {
  scope: account
  name: assignmentName
  properties: union(limits, {
    roleDefinitionId: roleDefinitionId
    principalId: principalId
    // Else an identity that was just made may be unknown to the directory that is asked.
    principalType: 'ServicePrincipal'
  })
}

resource onVault 'Microsoft.Authorization/roleAssignments@2022-04-01' = if (kind == 'vault') {
  scope: vault
  name: assignmentName
  properties: {
    roleDefinitionId: roleDefinitionId
    principalId: principalId
    principalType: 'ServicePrincipal'
  }
}

resource onTokens 'Microsoft.Authorization/roleAssignments@2022-04-01' = if (kind == 'tokens') {
  scope: tokenHashes
  name: assignmentName
  properties: {
    roleDefinitionId: roleDefinitionId
    principalId: principalId
    principalType: 'ServicePrincipal'
  }
}

resource onComponent 'Microsoft.Authorization/roleAssignments@2022-04-01' = if (kind == 'component') {
  scope: component
  name: assignmentName
  properties: {
    roleDefinitionId: roleDefinitionId
    principalId: principalId
    principalType: 'ServicePrincipal'
  }
}

resource onMail 'Microsoft.Authorization/roleAssignments@2022-04-01' = if (kind == 'mail') {
  scope: mail
  name: assignmentName
  properties: {
    roleDefinitionId: roleDefinitionId
    principalId: principalId
    principalType: 'ServicePrincipal'
  }
}
