metadata description = 'The service that sends PIN emails. The domain is linked when it is verified, in a later run, and stays linked.'

import { roleIds, Texts } from '../types.bicep'

@description('Name of the communication service.')
param name string

@description('Tags of every resource.')
param tags Texts

@description('Where the service keeps its data; the same as of the domain.')
param dataLocation string

@description('Name of the mail service that the domain belongs to.')
param mailServiceName string

@description('The domain.')
param domainName string

@description('Id of the domain.')
param domainId string

@description('Whether the domain is linked: it is verified, or was linked before.')
param linked bool

@description('The part before the @ in the address of the sender.')
param senderName string

@description('The name that recipients see.')
param senderDisplayName string

@description('Object id of the identity that sends.')
param principalId string

resource communication 'Microsoft.Communication/communicationServices@2026-03-18' = {
  name: name
  location: 'global'
  tags: tags
  properties: {
    dataLocation: dataLocation
    disableLocalAuth: true
    linkedDomains: linked ? [domainId] : []
  }
}

resource service 'Microsoft.Communication/emailServices@2026-03-18' existing = {
  name: mailServiceName

  resource domain 'domains' existing = {
    name: domainName
  }
}

// Azure makes donotreply itself, and refuses any other name on a domain that has the default sending limits.
resource sender 'Microsoft.Communication/emailServices/domains/senderUsernames@2026-03-18' = if (linked && toLower(senderName) != 'donotreply') {
  parent: service::domain
  name: toLower(senderName)
  properties: { username: toLower(senderName), displayName: senderDisplayName }
}

// No narrower role of Azure's own can send.
resource owner 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  scope: communication
  name: guid(communication.id, principalId, 'Communication and Email Service Owner')
  properties: {
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', roleIds.communicationAndEmailServiceOwner)
    principalId: principalId
    // Else an identity that was just made may be unknown to the directory that is asked.
    principalType: 'ServicePrincipal'
  }
}

@description('Address of the service.')
output endpoint string = 'https://${communication.properties.hostName}'
