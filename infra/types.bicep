metadata description = 'Types and functions of several templates.'

@export()
@description('Texts by name, as tags and settings.')
type Texts = { *: string }

@export()
@description('Ids of private DNS zones by use; empty where none is used.')
type Zones = {
  @description('Of blobs.')
  blob: string
  @description('Of tables.')
  table: string
  @description('Of vaults.')
  vault: string
  @description('Of apps.')
  sites: string
}

@export()
@description('Ids of subnets by use; empty where there is none.')
type Subnets = {
  @description('Of Core, delegated to Microsoft.App/environments.')
  core: string
  @description('Of Client, as that of Core.')
  client: string
  @description('Of the connector, as that of Core.')
  connector: string
  @description('Of the private endpoints of the authentication server.')
  authEndpoints: string
  @description('Of the private endpoints of the connector.')
  connectorEndpoints: string
  @description('Of the private endpoint of Core.')
  coreEndpoint: string
}

@export()
@description('Address ranges of the internet that Core admits, as in 203.0.113.7/32.')
type CoreRanges = {
  @description('Reaches the deployment site alone; in a trial the API too.')
  deploy: string
  @description('Reaches both until the first user is created. `npm run deploy:finish -- --close` ends it.')
  setup: string
}

@export()
@description('What is given for each app.')
type ByApp = {
  @description('For Core.')
  core: string
  @description('For Client.')
  client: string
  @description('For the connector.')
  connector: string
}

@export()
@description('An identity of an app.')
type Identity = {
  @description('Its id.')
  id: string
  @description('Its object id, which roles are given to.')
  principalId: string
  @description('Its client id, by which an app asks for tokens.')
  clientId: string
}

@export()
@description('Read and write access of an app to a storage account.')
type Grant = {
  @description('Object id of the identity of the app.')
  principalId: string
  @description('Containers that the access does not include.')
  exceptContainers: string[]
}

@export()
@description('A record to publish in DNS.')
type DnsRecord = {
  @description('TXT or CNAME.')
  type: string
  @description('Name of the record.')
  name: string
  @description('Its value.')
  value: string
  @description('Seconds for which it may be cached.')
  ttl: int
}

@export()
@description('Ids of the roles of Azure that the apps get.')
var roleIds = {
  communicationAndEmailServiceOwner: '09976791-48a7-449e-bb21-39d1a415f350'
  keyVaultSecretsOfficer: 'b86a8fe4-44ce-4948-aee5-eccb2c155cd7'
  keyVaultSecretsUser: '4633458b-17de-408a-b874-0445c86b69e6'
  monitoringMetricsPublisher: '3913510d-42f4-4e42-8a64-420c390055eb'
  storageBlobDataOwner: 'b7e6dc6d-f1e8-4753-8033-0f276bb0955b'
  storageTableDataContributor: '0a9a7e1f-b9d0-4cc4-a60d-0319b160aaa3'
}

@export()
@description('The texts that are not empty: for azd a variable that is not set is an empty text.')
func given(texts Texts) Texts => toObject(filter(items(texts), text => !empty(text.value)), text => text.key, text => text.value)

@export()
@description('The parts of a comma-separated list, without spaces around them and without empty ones.')
func listed(text string) string[] => filter(map(split(text, ','), part => trim(part)), part => !empty(part))

@export()
@description('The pairs of a comma-separated list of name=value.')
func pairs(text string) Texts =>
  toObject(
    filter(split(text, ','), pair => contains(pair, '=')),
    pair => trim(split(pair, '=')[0]),
    pair => trim(join(skip(split(pair, '='), 1), '='))
  )
