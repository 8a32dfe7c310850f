metadata description = 'Alerts for operators. The names in the queries are those of docs/telemetry.md.'

import { ByApp, Place } from '../types.bicep'

@description('First part of the names.')
param name string

@description('Region and tags.')
param place Place

@description('Id of the Application Insights component.')
param componentId string

@description('Id of the workspace, which holds the audit logs of the vaults.')
param workspaceId string

@description('Names of the vaults. The workspace may hold the audit logs of other vaults too.')
param vaultNames string[]

@description('Addresses that alerts are mailed to.')
param mailTo string[]

@description('A job that has not run for this long raises an alert, as an ISO 8601 duration. Longer than the longest interval of the schedules.')
@allowed(['PT2H', 'PT3H', 'PT4H', 'PT6H', 'P1D'])
param jobWindow string

@description('Names of the apps by API, which run the jobs.')
param appNames ByApp

@description('Id of an action group of yours; empty makes one.')
param existingActionGroupId string

@description('Whether timers create backups.')
param backups bool

@description('Whether a timer sends events.')
param events bool

// The names as Kusto writes a list of texts.
var quotedVaults = join(map(vaultNames, vault => '"${vault}"'), ', ')

// The same duration as Kusto writes it.
var jobAge = toLower(replace(replace(jobWindow, 'P', ''), 'T', ''))

var hourlyJobs = map(
  [
    { name: 'processShipments', app: appNames.connector, runs: true }
    { name: 'processCredentialRequests', app: appNames.connector, runs: true }
    { name: 'dataCleanup', app: appNames.connector, runs: true }
    { name: 'sessionCleanup', app: appNames.client, runs: true }
    { name: 'sendEvents', app: appNames.connector, runs: events }
  ],
  job => { name: job.name, app: job.app, runs: job.runs, age: jobAge }
)

// A backup is created every day, sometimes some minutes later than the day before.
var backupJobs = [
  { name: 'scheduledAuthBackUp', app: appNames.core, runs: backups, age: '26h' }
  { name: 'scheduledConnectorBackUp', app: appNames.connector, runs: backups, age: '26h' }
]

// The timers of a host may stop for good after a deployment (Azure/azure-functions-host#11828), which only these rules show.
// A job is expected once its app has been running for that long: an app that is not deployed yet raises no alert. Two days are the longest
// time that a log alert looks back, so the alert stays open until a person closes it, and is mailed once a day. The rule of a job that
// is switched off is disabled, not left out: a deployment deletes nothing, so a former rule would stay and raise an alert every day.
var jobRules = map(concat(hourlyJobs, backupJobs), job => {
  id: 'job-not-run-${toLower(job.name)}'
  enabled: job.runs
  title: 'Job ${job.name} has not run'
  text: 'The timer of ${job.name} has not completed a run for ${job.age}. Look for its failures, and whether its app is up.'
  severity: 1
  query: 'traces | where cloud_RoleName =~ "${job.app}" | summarize runs = countif(timestamp > ago(${job.age}) and message == "job" and tostring(customDimensions.job) == "${job.name}" and tostring(customDimensions.trigger) == "timer"), earlier = countif(timestamp < ago(${job.age})) | where earlier > 0'
  column: 'runs'
  operator: 'LessThan'
  threshold: 1
  window: 'PT6H'
  lookBack: 'P2D'
  frequency: 'PT30M'
})

// What a rule does not say itself.
var defaults = {
  enabled: true
  scope: componentId
  aggregation: 'Maximum'
  operator: 'GreaterThan'
  threshold: 0
  dimension: ''
}

var otherRules = [
  {
    id: 'job-failed'
    title: 'A job failed'
    text: 'A job ended with an error. Its event job_failed has it.'
    severity: 1
    query: 'traces | where message == "job_failed" | summarize failures = count() by job = tostring(customDimensions.job)'
    column: 'failures'
    window: 'PT30M'
    frequency: 'PT15M'
    dimension: 'job'
  }
  {
    id: 'not-started'
    title: 'An app refuses to serve'
    text: 'Settings are wrong, or the app did not start: it answers 503 to everything. The event names every problem.'
    severity: 0
    query: 'traces | where message has "\\"event\\":\\"bad_settings\\"" or message has "\\"event\\":\\"not_started\\"" | summarize starts = count()'
    column: 'starts'
    window: 'PT15M'
    frequency: 'PT5M'
  }
  {
    id: 'idp-configuration'
    title: 'The file of identity providers cannot be used'
    text: 'A file that cannot be read at the start, or is wrong at any time. The connector keeps the last valid one; if it has none, it answers 503. The event names every wrong key.'
    severity: 1
    query: 'traces | where message == "bad_idp_configuration" or (message == "idp_configuration_unread" and tostring(customDimensions.kept) == "false") | summarize reads = count() by event = message'
    column: 'reads'
    window: 'PT2H'
    frequency: 'PT15M'
    dimension: 'event'
  }
  {
    id: 'failures'
    title: 'Calls or deliveries of events fail by bugs or outages'
    text: 'Calls were answered by a bare 500, or runs could not read or store deliveries of events. The events failed and event_sink_failed have the errors. A few of them in an outage need no action.'
    severity: 2
    query: 'traces | where message in ("failed", "event_sink_failed") | summarize failures = count() by event = message'
    column: 'failures'
    threshold: 5
    window: 'PT15M'
    frequency: 'PT15M'
    dimension: 'event'
  }
  // Each of these comes once, or once in each hourly run, and does not end by itself. The window is longer than the interval of the
  // jobs, so that an error of every run is one alert and not one in each hour.
  {
    id: 'failed-item'
    title: 'A row, a request or a task failed, or a secret is missing'
    text: 'A row or a sealed value cannot be read, a secret is not in the vault, work on a request failed, or a maintenance task ended with an error. The event names what failed; docs/telemetry.md explains it.'
    severity: 2
    query: 'traces | where message in ("row_failed", "work_failed", "task_failed", "reseal_failed", "sealed_value_unreadable", "secret_missing", "abort_failed", "reconcile_not_scheduled") | summarize failures = count() by event = message'
    column: 'failures'
    window: 'PT6H'
    frequency: 'PT30M'
    dimension: 'event'
  }
  {
    id: 'server-errors'
    title: 'Calls are answered by 5xx'
    text: 'Counted by the platform, not by the apps. Refused sign-ins do not count as failures.'
    severity: 2
    query: 'requests | where toint(resultCode) >= 500 | summarize failures = sum(itemCount) by app = cloud_RoleName'
    column: 'failures'
    threshold: 20
    window: 'PT15M'
    frequency: 'PT5M'
    dimension: 'app'
  }
  {
    id: 'needs-a-person'
    title: 'An order needs a person'
    text: 'A shipment is in doubt, a PIN email was given up, or a credential could not be revoked. The event has the credential request id.'
    severity: 2
    query: 'traces | where message in ("delivery_unanswered", "start_failed", "shipment_not_found", "shipment_link_rejected", "shipment_after_end", "all_shipments_missing", "pin_mail_given_up", "credential_revoke_failed", "replaced_key_missing") | summarize orders = count() by event = message'
    column: 'orders'
    window: 'PT1H'
    frequency: 'PT30M'
    dimension: 'event'
  }
  {
    id: 'keys-not-delivered'
    title: 'Keys were lost, or could not be delivered'
    text: 'The delivery service reported a shipment as lost or not deliverable. The event delivery_state has the credential request id; docs/operate.md says what to do about its keys.'
    severity: 2
    query: 'traces | where message == "delivery_state" and tostring(customDimensions.state) in ("lost", "exception") | summarize keys = sum(toint(customDimensions.keys)) by state = tostring(customDimensions.state)'
    column: 'keys'
    window: 'PT1H'
    frequency: 'PT30M'
    dimension: 'state'
  }
  {
    id: 'events-not-delivered'
    title: 'Events do not reach their receiver'
    text: 'An event was given up, or its receiver answered 410. The receiver must read the requests itself; docs/operate.md says how to resume it.'
    severity: 2
    query: 'traces | where message in ("event_given_up", "event_sink_stopped") | summarize events = count() by event = message'
    column: 'events'
    window: 'PT1H'
    frequency: 'PT30M'
    dimension: 'event'
  }
  {
    id: 'unsent-pin-mail'
    title: 'A PIN email waits too long'
    text: 'A PIN email is due and could not be sent. Look at mail_failed and at the quota of the mail service.'
    severity: 2
    query: 'customMetrics | where name == "pin_mail.unsent.age" | summarize oldestHours = max(valueMax) / 3600.0'
    column: 'oldestHours'
    threshold: 24
    window: 'PT6H'
    frequency: 'PT1H'
  }
  {
    id: 'throttled-peer'
    title: 'A peer throttles us'
    text: 'A peer refuses calls for a while. Work stays due; if it lasts, spread the load or ask for a higher limit.'
    severity: 3
    query: 'customMetrics | where name == "peer.call.duration" and tostring(customDimensions.outcome) == "throttled" | summarize calls = sum(valueCount) by peer = tostring(customDimensions.peer)'
    column: 'calls'
    threshold: 50
    window: 'PT1H'
    frequency: 'PT30M'
    dimension: 'peer'
  }
  {
    id: 'delivery-token'
    title: 'The delivery service or the enrollment side refuses our token'
    text: 'Nothing of it moves until the secret delivery-api-token or enrollment-credential is replaced; the event says which.'
    severity: 1
    query: 'traces | where message in ("delivery_token_refused", "enrollment_refused") | summarize refusals = count()'
    column: 'refusals'
    window: 'PT2H'
    frequency: 'PT30M'
  }
  // An activation is tried every 6 hours at least. An answer to a call with a token may concern one user, and is not counted.
  {
    id: 'idp-token'
    title: 'An identity provider refuses our secret'
    text: 'It gives the connector no access token: the client secret or certificate in the vault is not the one that it knows, has expired or cannot be read, or its application is disabled. Orders fail and credentials are not activated until it is replaced.'
    severity: 1
    query: 'customMetrics | where name == "peer.call.duration" and tostring(customDimensions.peer) startswith "IdP " and tostring(customDimensions.operation) == "access token" and tostring(customDimensions.outcome) in ("unauthorized", "refused", "missing") | summarize refusals = sum(valueCount) by peer = tostring(customDimensions.peer)'
    column: 'refusals'
    window: 'PT6H'
    frequency: 'PT30M'
    dimension: 'peer'
  }
  {
    id: 'secret-near-expiry'
    title: 'A secret in use is near its end'
    text: 'Replace it. The vault still returns an expired secret, but the system that issued it may refuse it.'
    severity: 2
    query: 'customMetrics | where name == "secret.days_left" | summarize daysLeft = min(valueMin) by secret = tostring(customDimensions.secret)'
    column: 'daysLeft'
    aggregation: 'Minimum'
    operator: 'LessThan'
    threshold: 30
    window: 'P1D'
    frequency: 'PT6H'
    dimension: 'secret'
  }
  {
    id: 'vault-near-expiry'
    title: 'A vault says that a secret is near its end'
    text: 'The vault reports every secret with an expiry date 30 days before that date, and on it, also if the secret is not in use.'
    severity: 3
    scope: workspaceId
    query: 'AzureDiagnostics | where ResourceProvider == "MICROSOFT.KEYVAULT" and Resource in~ (${quotedVaults}) and OperationName in ("SecretNearExpiryEventGridNotification", "SecretExpiredEventGridNotification") | summarize notices = count() by vault = Resource'
    column: 'notices'
    window: 'P1D'
    frequency: 'PT6H'
    dimension: 'vault'
  }
  {
    id: 'telemetry-stopped'
    title: 'The workspace accepts no more telemetry today'
    text: 'Its daily cap is reached: until the next day audit events are lost, the other log alerts see nothing, and those of jobs report runs that were only not recorded. Find out what sends so much, or raise DAILY_CAP_GB.'
    severity: 1
    scope: workspaceId
    query: '_LogOperation | where Category =~ "Ingestion" and Detail contains "OverQuota" | summarize stops = count()'
    column: 'stops'
    window: 'P1D'
    frequency: 'PT1H'
  }
  {
    id: 'api-token-expires'
    title: 'A static API token expires within two weeks'
    text: 'After its expiry the calls of its application are refused. Create another token and give it to the application.'
    severity: 3
    query: 'traces | where message == "api_token_expires" | summarize tokens = dcount(tostring(customDimensions.id))'
    column: 'tokens'
    window: 'P1D'
    frequency: 'PT6H'
  }
  {
    id: 'otpkey-stopped'
    title: 'A one-time-password key was stopped'
    text: 'A caller with the right password sent wrong OTPs until the key was stopped. Its user cannot sign in before an administrator enables it.'
    severity: 3
    query: 'traces | where message == "otpkey_stopped" | summarize keys = count()'
    column: 'keys'
    window: 'PT1H'
    frequency: 'PT30M'
  }
]

resource group 'Microsoft.Insights/actionGroups@2023-01-01' = if (empty(existingActionGroupId)) {
  name: '${name}-operators'
  location: 'global'
  tags: place.tags
  properties: {
    groupShortName: 'operators'
    enabled: true
    emailReceivers: [
      for (address, position) in mailTo: {
        name: 'mail-${position}'
        emailAddress: address
        useCommonAlertSchema: true
      }
    ]
  }
}

var actionGroupId = empty(existingActionGroupId) ? group!.id : existingActionGroupId

resource rules 'Microsoft.Insights/scheduledQueryRules@2026-03-01' = [
  for rule in map(concat(jobRules, otherRules), rule => union(defaults, { lookBack: rule.window }, rule)): {
    name: '${name}-${rule.id}'
    location: place.location
    tags: place.tags
    kind: 'LogAlert'
    properties: union(rule.lookBack == rule.window ? {} : { overrideQueryTimeRange: rule.lookBack, muteActionsDuration: 'P1D' }, {
      displayName: rule.title
      description: rule.text
      severity: rule.severity
      enabled: rule.enabled
      scopes: [rule.scope]
      evaluationFrequency: rule.frequency
      windowSize: rule.window
      criteria: {
        allOf: [
          {
            query: rule.query
            timeAggregation: rule.aggregation
            metricMeasureColumn: rule.column
            dimensions: empty(rule.dimension) ? [] : [{ name: rule.dimension, operator: 'Include', values: ['*'] }]
            operator: rule.operator
            threshold: rule.threshold
            failingPeriods: { numberOfEvaluationPeriods: 1, minFailingPeriodsToAlert: 1 }
          }
        ]
      }
      autoMitigate: rule.lookBack == rule.window
      // The tables of a new component come with their first rows.
      skipQueryValidation: true
      actions: { actionGroups: [actionGroupId] }
    })
  }
]

@description('Id of the action group.')
output actionGroupId string = actionGroupId
