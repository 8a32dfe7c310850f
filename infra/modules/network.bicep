metadata description = 'A subnet for each app, and subnets of private endpoints by service: in a network of their own, or in one of yours. Security groups say who reaches the private endpoints of which service.'

import { Place } from '../types.bicep'

@description('A subnet.')
type Subnet = { name: string, addressPrefix: string }

@description('Name of the network.')
param name string

@description('Whether the network is there already. Only the subnets are created then.')
param exists bool

@description('First part of the names of the subnets.')
param subnetPrefix string

@description('First part of the names of the security groups.')
param groupPrefix string

@description('Region and tags.')
param place Place

@description('Addresses of the subnets: the first /24 of it. All of it are the addresses of a new network.')
param addressPrefix string

@description('Addresses of operators, in the network or in one that is peered with it; empty: none.')
param operatorRange string

@description('Further subnets of a new network.')
param additionalSubnets Subnet[]

@description('Id of a NAT gateway for the subnets of the apps and for further subnets of machines; empty: none.')
param natGatewayId string

@description('Id of a route table for the same subnets; empty: none.')
param routeTableId string

var apps = [
  { name: 'core', addressPrefix: cidrSubnet(addressPrefix, 26, 0), group: 'apps' }
  { name: 'client', addressPrefix: cidrSubnet(addressPrefix, 26, 1), group: 'apps' }
  { name: 'connector', addressPrefix: cidrSubnet(addressPrefix, 26, 2), group: 'apps' }
]
var endpoints = [
  { name: 'auth-endpoints', addressPrefix: cidrSubnet(addressPrefix, 28, 12), group: 'auth-endpoints' }
  { name: 'connector-endpoints', addressPrefix: cidrSubnet(addressPrefix, 28, 13), group: 'connector-endpoints' }
  { name: 'core-endpoint', addressPrefix: cidrSubnet(addressPrefix, 28, 14), group: 'core-endpoint' }
]
var planned = concat(apps, endpoints)

var services = [
  {
    name: 'auth-endpoints'
    apps: [apps[0].addressPrefix, apps[1].addressPrefix]
    allows: 'Core and Client reach the storage and the vault of the authentication server.'
    refuses: 'A broken connector does not even reach them.'
  }
  {
    name: 'connector-endpoints'
    apps: [apps[2].addressPrefix]
    allows: 'The connector reaches its storage and its vault.'
    refuses: 'A broken Client API does not even reach them.'
  }
]

var inbound = { direction: 'Inbound', sourcePortRange: '*', destinationAddressPrefix: '*' }
var toTls = { ...inbound, access: 'Allow', protocol: 'Tcp', destinationPortRange: '443' }
var refused = { ...inbound, access: 'Deny', protocol: '*', destinationPortRange: '*' }
var operatorRules = empty(operatorRange)
  ? []
  : [
      {
        name: 'operators'
        properties: {
          description: 'Files and secrets are put in place from here. Roles say by whom.'
          priority: 200
          sourceAddressPrefix: operatorRange
          ...toTls
        }
      }
    ]

// No rule keeps an app from its own name: Azure has it call itself to read its triggers (MicrosoftDocs/azure-docs#114653).
resource appGroup 'Microsoft.Network/networkSecurityGroups@2025-09-01' = {
  name: '${groupPrefix}apps'
  location: place.location
  tags: place.tags
  properties: { securityRules: [] }
}

resource serviceGroups 'Microsoft.Network/networkSecurityGroups@2025-09-01' = [
  for service in services: {
    name: '${groupPrefix}${service.name}'
    location: place.location
    tags: place.tags
    properties: {
      securityRules: concat(
        [
          {
            name: 'apps-of-the-service'
            properties: {
              description: service.allows
              priority: 100
              sourceAddressPrefixes: service.apps
              ...toTls
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
              sourceAddressPrefix: '*'
              ...refused
            }
          }
        ]
      )
    }
  }
]

// Core's own subnet stays admitted: a deployment ends with Core calling itself by this endpoint (Azure/Azure-Functions#2635).
resource coreGroup 'Microsoft.Network/networkSecurityGroups@2025-09-01' = {
  name: '${groupPrefix}core-endpoint'
  location: place.location
  tags: place.tags
  properties: {
    securityRules: [
      {
        name: 'no-other-app'
        properties: {
          description: 'Core is for administrators: a broken public app does not reach it from its subnet.'
          priority: 100
          sourceAddressPrefixes: [apps[1].addressPrefix, apps[2].addressPrefix]
          ...refused
        }
      }
    ]
  }
}

var groupIds = {
  apps: appGroup.id
  'auth-endpoints': serviceGroups[0].id
  'connector-endpoints': serviceGroups[1].id
  'core-endpoint': coreGroup.id
}

var wayOut = union(
  empty(natGatewayId) ? {} : { natGateway: { id: natGatewayId } },
  empty(routeTableId) ? {} : { routeTable: { id: routeTableId } }
)
var forApps = union(wayOut, {
  delegations: [{ name: 'functions', properties: { serviceName: 'Microsoft.App/environments' } }]
})

// A policy may refuse a subnet without a security group. Without rules it admits what comes from the network and its peers.
var forMachines = union(wayOut, { networkSecurityGroup: { id: groupIds.apps } })
// For these Azure refuses a route table or a security group that is not made for them.
var ofServices = [
  'AzureBastionSubnet'
  'AzureFirewallManagementSubnet'
  'AzureFirewallSubnet'
  'GatewaySubnet'
  'RouteServerSubnet'
]

var names = concat(map(planned, subnet => '${subnetPrefix}${subnet.name}'), map(exists ? [] : additionalSubnets, subnet => subnet.name))
// Every subnet is private. In those of the apps that changes nothing: Azure Functions calls out from addresses of its own, unless there
// is a NAT gateway or a route table.
var properties = concat(
  map(
    planned,
    subnet =>
      union(subnet.group == 'apps' ? forApps : { privateEndpointNetworkPolicies: 'NetworkSecurityGroupEnabled' }, {
        addressPrefix: subnet.addressPrefix
        networkSecurityGroup: { id: groupIds[subnet.group] }
        defaultOutboundAccess: false
      })
  ),
  map(
    additionalSubnets,
    subnet =>
      union(!contains(ofServices, subnet.name) ? forMachines : {}, {
        addressPrefix: subnet.addressPrefix
        defaultOutboundAccess: false
      })
  )
)

// Without its subnets: Azure then leaves those that it has, also one that was added by hand.
resource network 'Microsoft.Network/virtualNetworks@2025-09-01' = if (!exists) {
  name: name
  location: place.location
  tags: place.tags
  properties: { addressSpace: { addressPrefixes: [addressPrefix] } }
}

resource present 'Microsoft.Network/virtualNetworks@2025-09-01' existing = if (exists) {
  name: name
}

// One after the other: a network refuses a second change while one is being made.
@batchSize(1)
resource made 'Microsoft.Network/virtualNetworks/subnets@2025-09-01' = [
  for (subnet, position) in exists ? [] : names: {
    parent: network
    name: subnet
    properties: properties[position]
  }
]

@batchSize(1)
resource added 'Microsoft.Network/virtualNetworks/subnets@2025-09-01' = [
  for (subnet, position) in exists ? names : []: {
    parent: present
    name: subnet
    properties: properties[position]
  }
]
