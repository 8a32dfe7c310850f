metadata description = 'Calls /health of the public apps from several places, and alerts when one does not respond. All are created disabled where no calls are wanted: a deployment deletes nothing, so those of an earlier run would go on.'

import { Place } from '../types.bicep'

@description('A test of the app at an address, without /health. A disabled one makes no calls, which are what it costs.')
type Test = { name: string, enabled: bool, url: string }

@description('The tests.')
param tests Test[]

@description('Region and tags.')
param place Place

@description('Id of the Application Insights component.')
param componentId string

@description('Id of the action group that is notified.')
param actionGroupId string

// By the names that Application Insights gives them.
var places = ['emea-nl-ams-azr', 'emea-gb-db3-azr', 'emea-fr-pra-edge', 'emea-se-sto-edge', 'us-va-ash-azr']

resource calls 'Microsoft.Insights/webtests@2022-06-15' = [
  for test in tests: {
    name: test.name
    location: place.location
    // Without this tag the portal does not show the test with its component.
    tags: union(place.tags, { 'hidden-link:${componentId}': 'Resource' })
    kind: 'standard'
    properties: {
      SyntheticMonitorId: test.name
      Name: test.name
      Description: 'Storage and vault of the app respond.'
      Enabled: test.enabled
      Kind: 'standard'
      Frequency: 900
      Timeout: 30
      RetryEnabled: true
      Locations: map(places, place => { Id: place })
      Request: { RequestUrl: '${test.url}/health', HttpVerb: 'GET', ParseDependentRequests: false }
      ValidationRules: { ExpectedHttpStatusCode: 200, SSLCheck: true, SSLCertRemainingLifetimeCheck: 7 }
    }
  }
]

resource alerts 'Microsoft.Insights/metricAlerts@2026-01-01' = [
  for (test, position) in tests: {
    name: '${test.name}-down'
    location: 'global'
    tags: place.tags
    properties: {
      description: 'Two places or more got no good response from ${test.url}/health.'
      severity: 1
      enabled: test.enabled
      scopes: [calls[position].id, componentId]
      evaluationFrequency: 'PT5M'
      windowSize: 'PT15M'
      criteria: {
        'odata.type': 'Microsoft.Azure.Monitor.WebtestLocationAvailabilityCriteria'
        webTestId: calls[position].id
        componentId: componentId
        failedLocationCount: 2
      }
      actions: [{ actionGroupId: actionGroupId }]
    }
  }
]
