metadata description = 'Private DNS zones of the private endpoints, linked to the network.'

@description('Name of the links.')
param linkName string

@description('Tags of every resource.')
param tags object

@description('Id of the network.')
param networkId string

@description('Parts of resources whose zones are created: blob, table, vault, sites.')
param parts string[]

var zoneNames = {
  blob: 'privatelink.blob.${environment().suffixes.storage}'
  table: 'privatelink.table.${environment().suffixes.storage}'
  vault: 'privatelink.vaultcore.azure.net'
  sites: 'privatelink.azurewebsites.net'
}

resource zones 'Microsoft.Network/privateDnsZones@2024-06-01' = [
  for part in parts: {
    name: zoneNames[part]
    location: 'global'
    tags: tags
  }
]

resource links 'Microsoft.Network/privateDnsZones/virtualNetworkLinks@2024-06-01' = [
  for (part, position) in parts: {
    parent: zones[position]
    name: linkName
    location: 'global'
    tags: tags
    properties: {
      registrationEnabled: false
      virtualNetwork: {
        id: networkId
      }
    }
  }
]

@description('Zones by the part of a resource that they name.')
output zoneIds object = toObject(
  items(zoneNames),
  zone => zone.key,
  zone => resourceId('Microsoft.Network/privateDnsZones', zone.value)
)
