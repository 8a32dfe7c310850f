metadata description = 'Rules of the subnets: who reaches the private endpoints of which service.'

@description('First part of the names of the groups.')
param prefix string

@description('Region of the network.')
param location string

@description('Tags of every resource.')
param tags object

@description('Addresses of Core.')
param corePrefix string

@description('Addresses of Client.')
param clientPrefix string

@description('Addresses of the connector.')
param connectorPrefix string

@description('Addresses of operators, in the network or in one that is peered with it; empty: none.')
param operatorRange string

var services = [
  {
    name: 'auth-endpoints'
    apps: [corePrefix, clientPrefix]
    allows: 'Core and Client reach the storage and the vault of the authentication server.'
    refuses: 'A broken connector does not even reach them.'
  }
  {
    name: 'connector-endpoints'
    apps: [connectorPrefix]
    allows: 'The connector reaches its storage and its vault.'
    refuses: 'A broken Client API does not even reach them.'
  }
]

var operatorRules = empty(operatorRange)
  ? []
  : [
      {
        name: 'operators'
        properties: {
          description: 'Files and secrets are put in place from here. Roles say by whom.'
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

resource appGroup 'Microsoft.Network/networkSecurityGroups@2025-09-01' = {
  name: '${prefix}apps'
  location: location
  tags: tags
  properties: {
    securityRules: []
  }
}

resource serviceGroups 'Microsoft.Network/networkSecurityGroups@2025-09-01' = [
  for service in services: {
    name: '${prefix}${service.name}'
    location: location
    tags: tags
    properties: {
      securityRules: concat(
        [
          {
            name: 'apps-of-the-service'
            properties: {
              description: service.allows
              priority: 100
              direction: 'Inbound'
              access: 'Allow'
              protocol: 'Tcp'
              sourceAddressPrefixes: service.apps
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
              description: service.refuses
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
]

resource coreGroup 'Microsoft.Network/networkSecurityGroups@2025-09-01' = {
  name: '${prefix}core-endpoint'
  location: location
  tags: tags
  properties: {
    securityRules: [
      {
        name: 'no-other-app'
        properties: {
          description: 'Core is for administrators: a broken public app does not reach it from its subnet.'
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

@description('Ids of the groups by the kind of subnet.')
output ids object = {
  apps: appGroup.id
  'auth-endpoints': serviceGroups[0].id
  'connector-endpoints': serviceGroups[1].id
  'core-endpoint': coreGroup.id
}
