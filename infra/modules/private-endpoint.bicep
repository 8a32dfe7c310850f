metadata description = 'One private endpoint and its DNS records.'

@description('Name of the endpoint.')
param name string

@description('Region of the network.')
param location string

@description('Tags of every resource.')
param tags object

@description('Subnet of the endpoint.')
param subnetId string

@description('Resource that is reached.')
param targetId string

@description('Part of the resource that is reached: blob, table, vault, sites.')
param group string

@description('Private DNS zone of that part; empty: something else makes the records.')
param zoneId string

resource endpoint 'Microsoft.Network/privateEndpoints@2025-09-01' = {
  name: name
  location: location
  tags: tags
  properties: {
    subnet: {
      id: subnetId
    }
    privateLinkServiceConnections: [
      {
        name: group
        properties: {
          privateLinkServiceId: targetId
          groupIds: [
            group
          ]
        }
      }
    ]
  }
}

resource records 'Microsoft.Network/privateEndpoints/privateDnsZoneGroups@2025-09-01' = if (!empty(zoneId)) {
  parent: endpoint
  name: 'default'
  properties: {
    privateDnsZoneConfigs: [
      {
        name: group
        properties: {
          privateDnsZoneId: zoneId
        }
      }
    ]
  }
}
