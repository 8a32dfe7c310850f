metadata description = 'The domain that PIN emails come from, and the DNS records that prove it is yours.'

import { DnsRecord, Texts } from '../types.bicep'

@description('Name of the mail service.')
param name string

@description('Tags of every resource.')
param tags Texts

@description('The domain, as in keys.example.com.')
param domainName string

@description('Where the mail service keeps its data.')
param dataLocation string

resource service 'Microsoft.Communication/emailServices@2026-03-18' = {
  name: name
  location: 'global'
  tags: tags
  properties: { dataLocation: dataLocation }
}

resource domain 'Microsoft.Communication/emailServices/domains@2026-03-18' = {
  parent: service
  name: domainName
  location: 'global'
  tags: tags
  properties: {
    domainManagement: 'CustomerManaged'
    // It would put links of its own into mails with PINs.
    userEngagementTracking: 'Disabled'
  }
}

var states = domain.properties.verificationStates
var records = domain.properties.verificationRecords

@description('Whether the domain may send: every record was found.')
output verified bool = states.Domain.status == 'Verified' && states.SPF.status == 'Verified' && states.DKIM.status == 'Verified' && states.DKIM2.status == 'Verified'

@description('DNS records to publish, each with type, name, value and ttl.')
output dnsRecords DnsRecord[] = [records.Domain, records.SPF, records.DKIM, records.DKIM2]

@description('The domain in the address of the sender.')
output senderDomain string = domain.properties.mailFromSenderDomain

@description('Id of the domain.')
output domainId string = domain.id
