metadata description = 'Types and functions of several templates.'

@export()
@description('Texts by name, as tags and settings.')
type Texts = { *: string }

@export()
@description('Where every resource of a module is, and its tags.')
type Place = { location: string, tags: Texts }

@export()
@description('Ids of private DNS zones by use; empty where none is used.')
type Zones = { blob: string, table: string, vault: string, sites: string }

@export()
@description('Ids of subnets by use, those of the apps delegated to Microsoft.App/environments; empty where there is none.')
type Subnets = {
  core: string
  client: string
  connector: string
  authEndpoints: string
  connectorEndpoints: string
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
type ByApp = { core: string, client: string, connector: string }

@export()
@description('An identity of an app. Roles are given to its principalId, and the app asks for tokens by its clientId.')
type Identity = { id: string, principalId: string, clientId: string }

@export()
@description('Name of a storage account, and addresses of its parts with a slash at the end.')
type Store = { name: string, blobs: string, tables: string }

@export()
@description('Read and write access of the identity of an app to a storage account, but for some containers.')
type Grant = { principalId: string, exceptContainers: string[] }

@export()
@description('A record to publish in DNS, TXT or CNAME, which may be cached for ttl seconds.')
type DnsRecord = { type: string, name: string, value: string, ttl: int }

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
