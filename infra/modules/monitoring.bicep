metadata description = 'Where telemetry goes, and the workbook that draws it.'

import { Place, roleIds } from '../types.bicep'

@description('Name of the workspace.')
param workspaceName string

@description('Name of the Application Insights component.')
param componentName string

@description('Region and tags.')
param place Place

@description('For how many days telemetry is kept.')
param retentionDays int

@description('Gigabytes a day after which the workspace takes no more; 0 has no limit.')
param dailyCapGb int

@description('Id of a workspace of yours; empty makes one.')
param existingWorkspaceId string

@description('Title of the workbook.')
param workbookTitle string

@description('Object ids of the identities that send telemetry.')
param senders string[]

resource workspace 'Microsoft.OperationalInsights/workspaces@2026-03-01' = if (empty(existingWorkspaceId)) {
  name: workspaceName
  location: place.location
  tags: place.tags
  properties: {
    sku: { name: 'PerGB2018' }
    retentionInDays: retentionDays
    workspaceCapping: { dailyQuotaGb: dailyCapGb == 0 ? -1 : dailyCapGb }
    features: { disableLocalAuth: true }
  }
}

var workspaceId = empty(existingWorkspaceId) ? workspace!.id : existingWorkspaceId

resource component 'Microsoft.Insights/components@2020-02-02' = {
  name: componentName
  location: place.location
  tags: place.tags
  kind: 'web'
  properties: {
    Application_Type: 'web'
    WorkspaceResourceId: workspaceId
    IngestionMode: 'LogAnalytics'
    DisableLocalAuth: true
  }
}

resource metricsPublishers 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for sender in senders: {
    scope: component
    name: guid(component.id, sender, 'Monitoring Metrics Publisher')
    properties: {
      roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', roleIds.monitoringMetricsPublisher)
      principalId: sender
      // Else an identity that was just made may be unknown to the directory that is asked.
      principalType: 'ServicePrincipal'
    }
  }
]

resource workbook 'Microsoft.Insights/workbooks@2023-06-01' = {
  name: guid(resourceGroup().id, componentName, 'workbook')
  location: place.location
  tags: place.tags
  kind: 'shared'
  properties: {
    displayName: workbookTitle
    category: 'workbook'
    sourceId: component.id
    serializedData: replace(loadTextContent('../workbook.json'), '__COMPONENT__', component.id)
  }
}

@description('Id of the workspace.')
output workspaceId string = workspaceId

@description('Id of the component.')
output componentId string = component.id

@description('Connection string of the component. It is no secret: the component takes tokens of identities alone.')
output connectionString string = component.properties.ConnectionString
