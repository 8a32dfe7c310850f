metadata description = 'The network: a subnet for each app, subnets of private endpoints by service, and private DNS.'

@description('Name of the network, and the first part of the names of its security groups.')
param name string

@description('Region of the network.')
param location string

@description('Tags of every resource.')
param tags object

@description('Addresses of the network. The first /24 of it is used; what follows is free for subnets of your own.')
param addressPrefix string

@description('Addresses of operators, in the network or in one that is peered with it; empty: none.')
param operatorRange string

@description('Subnets of your own, each with name and addressPrefix. A subnet that is added by hand and not named here is lost at the next run. It needs a way out of its own.')
param additionalSubnets array

@description('Parts of resources whose private DNS zones are made here.')
param ownZones string[]

@description('Id of a NAT gateway for the subnets of the apps; empty: none.')
param natGatewayId string

@description('Id of a route table for the subnets of the apps; empty: none.')
param routeTableId string

var corePrefix = cidrSubnet(addressPrefix, 26, 0)
var clientPrefix = cidrSubnet(addressPrefix, 26, 1)
var connectorPrefix = cidrSubnet(addressPrefix, 26, 2)

var zoneNames = {
  blob: 'privatelink.blob.${environment().suffixes.storage}'
  table: 'privatelink.table.${environment().suffixes.storage}'
  vault: 'privatelink.vaultcore.azure.net'
  sites: 'privatelink.azurewebsites.net'
}

var operatorRules = empty(operatorRange)
  ? []
  : [
      {
        name: 'operators'
        properties: {
          description: 'Operators upload files and secrets from here. Roles decide who may.'
          priority: 200
          direction: 'Inbound'
          access: 'Allow'
          protocol: 'Tcp'
          sourceAddressPrefix: operatorRange
          sourcePortRange: '*'
          destinationAddressPrefix: '*'
          destinationPortRange: '443'
        }
      }
    ]

resource openGroup 'Microsoft.Network/networkSecurityGroups@2025-09-01' = {
  name: '${name}-default'
  location: location
  tags: tags
  properties: {
    securityRules: []
  }
}

resource authGroup 'Microsoft.Network/networkSecurityGroups@2025-09-01' = {
  name: '${name}-auth-endpoints'
  location: location
  tags: tags
  properties: {
    securityRules: concat(
      [
        {
          name: 'apps-of-the-service'
          properties: {
            description: 'Core and Client reach the storage and the vault of the authentication server.'
            priority: 100
            direction: 'Inbound'
            access: 'Allow'
            protocol: 'Tcp'
            sourceAddressPrefixes: [
              corePrefix
              clientPrefix
            ]
            sourcePortRange: '*'
            destinationAddressPrefix: '*'
            destinationPortRange: '443'
          }
        }
      ],
      operatorRules,
      [
        {
          name: 'deny-other-sources'
          properties: {
            description: 'An attacker in the connector app has no network path to them.'
            priority: 4000
            direction: 'Inbound'
            access: 'Deny'
            protocol: '*'
            sourceAddressPrefix: '*'
            sourcePortRange: '*'
            destinationAddressPrefix: '*'
            destinationPortRange: '*'
          }
        }
      ]
    )
  }
}

resource connectorGroup 'Microsoft.Network/networkSecurityGroups@2025-09-01' = {
  name: '${name}-connector-endpoints'
  location: location
  tags: tags
  properties: {
    securityRules: concat(
      [
        {
          name: 'apps-of-the-service'
          properties: {
            description: 'The connector reaches its storage and its vault.'
            priority: 100
            direction: 'Inbound'
            access: 'Allow'
            protocol: 'Tcp'
            sourceAddressPrefix: connectorPrefix
            sourcePortRange: '*'
            destinationAddressPrefix: '*'
            destinationPortRange: '443'
          }
        }
      ],
      operatorRules,
      [
        {
          name: 'deny-other-sources'
          properties: {
            description: 'An attacker in the Client app has no network path to them.'
            priority: 4000
            direction: 'Inbound'
            access: 'Deny'
            protocol: '*'
            sourceAddressPrefix: '*'
            sourcePortRange: '*'
            destinationAddressPrefix: '*'
            destinationPortRange: '*'
          }
        }
      ]
    )
  }
}

resource coreGroup 'Microsoft.Network/networkSecurityGroups@2025-09-01' = {
  name: '${name}-core-endpoint'
  location: location
  tags: tags
  properties: {
    securityRules: [
      {
        name: 'no-other-app'
        properties: {
          description: 'Core is for administrators: a compromised public app has no network path to it.'
          priority: 100
          direction: 'Inbound'
          access: 'Deny'
          protocol: '*'
          sourceAddressPrefixes: [
            clientPrefix
            connectorPrefix
          ]
          sourcePortRange: '*'
          destinationAddressPrefix: '*'
          destinationPortRange: '*'
        }
      }
    ]
  }
}

var appSubnets = [
  {
    name: 'core'
    addressPrefix: corePrefix
  }
  {
    name: 'client'
    addressPrefix: clientPrefix
  }
  {
    name: 'connector'
    addressPrefix: connectorPrefix
  }
]

// Identity providers, mail and Entra are reached from the apps. With a way out of your own the subnets are private.
var wayOut = union(
  { defaultOutboundAccess: empty(natGatewayId) && empty(routeTableId) },
  empty(natGatewayId) ? {} : { natGateway: { id: natGatewayId } },
  empty(routeTableId) ? {} : { routeTable: { id: routeTableId } }
)

var usedZones = filter(items(zoneNames), zone => contains(ownZones, zone.key))

resource network 'Microsoft.Network/virtualNetworks@2025-09-01' = {
  name: name
  location: location
  tags: tags
  properties: {
    addressSpace: {
      addressPrefixes: [
        addressPrefix
      ]
    }
    // Inline, because a network that is written again without its subnets can lose them.
    subnets: concat(
      map(appSubnets, subnet => {
        name: subnet.name
        properties: union(wayOut, {
          addressPrefix: subnet.addressPrefix
          delegations: [
            {
              name: 'functions'
              properties: {
                serviceName: 'Microsoft.App/environments'
              }
            }
          ]
          networkSecurityGroup: {
            id: openGroup.id
          }
        })
      }),
      [
        {
          name: 'auth-endpoints'
          properties: {
            addressPrefix: cidrSubnet(addressPrefix, 28, 12)
            networkSecurityGroup: {
              id: authGroup.id
            }
            privateEndpointNetworkPolicies: 'NetworkSecurityGroupEnabled'
            defaultOutboundAccess: false
          }
        }
        {
          name: 'connector-endpoints'
          properties: {
            addressPrefix: cidrSubnet(addressPrefix, 28, 13)
            networkSecurityGroup: {
              id: connectorGroup.id
            }
            privateEndpointNetworkPolicies: 'NetworkSecurityGroupEnabled'
            defaultOutboundAccess: false
          }
        }
        {
          name: 'core-endpoint'
          properties: {
            addressPrefix: cidrSubnet(addressPrefix, 28, 14)
            networkSecurityGroup: {
              id: coreGroup.id
            }
            privateEndpointNetworkPolicies: 'NetworkSecurityGroupEnabled'
            defaultOutboundAccess: false
          }
        }
      ],
      map(additionalSubnets, subnet => {
        name: subnet.name
        properties: {
          addressPrefix: subnet.addressPrefix
        }
      })
    )
  }
}

resource zones 'Microsoft.Network/privateDnsZones@2024-06-01' = [
  for zone in usedZones: {
    name: zone.value
    location: 'global'
    tags: tags
  }
]

resource links 'Microsoft.Network/privateDnsZones/virtualNetworkLinks@2024-06-01' = [
  for (zone, position) in usedZones: {
    parent: zones[position]
    name: name
    location: 'global'
    tags: tags
    properties: {
      registrationEnabled: false
      virtualNetwork: {
        id: network.id
      }
    }
  }
]

@description('Subnets by what lies in them.')
output subnetIds object = {
  core: '${network.id}/subnets/core'
  client: '${network.id}/subnets/client'
  connector: '${network.id}/subnets/connector'
  authEndpoints: '${network.id}/subnets/auth-endpoints'
  connectorEndpoints: '${network.id}/subnets/connector-endpoints'
  coreEndpoint: '${network.id}/subnets/core-endpoint'
}

@description('Private DNS zones by the part of a resource that they name.')
output zoneIds object = toObject(
  items(zoneNames),
  zone => zone.key,
  zone => resourceId('Microsoft.Network/privateDnsZones', zone.value)
)

