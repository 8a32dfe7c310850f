metadata description = 'Calls /health of a public app from several places, and an alert when it does not respond. Both are created disabled where no calls are wanted: a deployment deletes nothing, so those of an earlier run would go on.'

@description('Name of the test.')
param name string

@description('Region of the component.')
param location string

@description('Tags of every resource.')
param tags object

@description('Whether the app is called. A disabled test makes no calls, which are what it costs.')
param enabled bool

@description('Address of the app, without /health.')
param url string

@description('Id of the Application Insights component.')
param componentId string

@description('Id of the action group that is notified.')
param actionGroupId string

@description('Places that the app is called from, by the names that Application Insights gives them.')
param places string[] = ['emea-nl-ams-azr', 'emea-gb-db3-azr', 'emea-fr-pra-edge', 'emea-se-sto-edge', 'us-va-ash-azr']

resource test 'Microsoft.Insights/webtests@2022-06-15' = {
  name: name
  location: location
  // Without this tag the portal does not show the test with its component.
  tags: union(tags, { 'hidden-link:${componentId}': 'Resource' })
  kind: 'standard'
  properties: {
    SyntheticMonitorId: name
    Name: name
    Description: 'Storage and vault of the app respond.'
    Enabled: enabled
    Kind: 'standard'
    Frequency: 900
    Timeout: 30
    RetryEnabled: true
    Locations: map(places, place => { Id: place })
    Request: {
      RequestUrl: '${url}/health'
      HttpVerb: 'GET'
      ParseDependentRequests: false
    }
    ValidationRules: {
      ExpectedHttpStatusCode: 200
      SSLCheck: true
      SSLCertRemainingLifetimeCheck: 7
    }
  }
}

resource alert 'Microsoft.Insights/metricAlerts@2026-01-01' = {
  name: '${name}-down'
  location: 'global'
  tags: tags
  properties: {
    description: 'Two places or more got no good response from ${url}/health.'
    severity: 1
    enabled: enabled
    scopes: [
      test.id
      componentId
    ]
    evaluationFrequency: 'PT5M'
    windowSize: 'PT15M'
    criteria: {
      'odata.type': 'Microsoft.Azure.Monitor.WebtestLocationAvailabilityCriteria'
      webTestId: test.id
      componentId: componentId
      failedLocationCount: 2
    }
    actions: [
      {
        actionGroupId: actionGroupId
      }
    ]
  }
}
