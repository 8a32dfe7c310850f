metadata description = 'Private DNS zones of the private endpoints, linked to the network.'

import { Texts } from '../types.bicep'

@description('Name of the links.')
param linkName string

@description('Tags of every resource.')
param tags Texts

@description('Id of the network.')
param networkId string

@description('Names of the zones.')
param names string[]

resource zones 'Microsoft.Network/privateDnsZones@2024-06-01' = [
  for name in names: {
    name: name
    location: 'global'
    tags: tags
  }
]

resource links 'Microsoft.Network/privateDnsZones/virtualNetworkLinks@2024-06-01' = [
  for (name, position) in names: {
    parent: zones[position]
    name: linkName
    location: 'global'
    tags: tags
    properties: {
      registrationEnabled: false
      // A peer with a private endpoint elsewhere has no record here. Without this its name does not resolve at all.
      resolutionPolicy: 'NxDomainRedirect'
      virtualNetwork: { id: networkId }
    }
  }
]
