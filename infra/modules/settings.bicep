metadata description = 'What the code expects of a deployment: its settings, its tables, its containers. A test compares all of it with the code.'

@export()
@description('Settings of every app, with the values of the code. The template sets the others itself.')
var everyAppDefaults = {
  CORE_PATH: 'core'
  CLIENT_PATH: 'client'
  CONNECTOR_PATH: ''
  TRUSTED_PROXIES: '1'
  LOGGING_LEVEL_COM_SERVICE: 'INFO'
  CALLER_AUDIENCES: ''
  CALLER_ISSUERS: ''
  CALLER_JWKS_ENDPOINT: ''
  CALLER_STATIC_TOKENS: 'false'
  STORAGE_TIMEOUT_SECONDS: '15'
  SECRETS_MAX_AGE_SECONDS: '300'
  SECRETS_REFRESH_SECONDS: '60'
  HEALTH_MAX_AGE_SECONDS: '10'
}

@export()
@description('Settings of the authentication server: of Core and Client alike.')
var authDefaults = {
  AUTH_OTP_POLICY: 'when-assigned'
  AUTH_PASSWORD_MIN_LENGTH: ''
  AUTH_ALLOW_EMPTY_PASSWORD: 'false'
  AUTH_IDENTIFY_BY_OTP: 'false'
  AUTH_HASHES_IN_FLIGHT: '4'
  AUTH_HASHES_WAITING: '1000'
  AUTH_THROTTLE_FAILURES: '10'
  AUTH_THROTTLE_FIRST_WAIT_SECONDS: '30'
  AUTH_THROTTLE_LONGEST_WAIT_SECONDS: '3600'
  AUTH_THROTTLE_RESERVATION_SECONDS: '30'
  AUTH_THROTTLE_BUSY_SECONDS: '2'
  AUTH_THROTTLE_KEEP_SECONDS: '86400'
  AUTH_KEY_STOP_FAILURES: '100'
  AUTH_ADDRESS_LIMIT: '0'
  AUTH_ADDRESS_WINDOW_SECONDS: '3600'
  AUTH_ADDRESS_ALLOW_LIST: ''
  OTP_HOTP_LOOK_AHEAD: '15'
  OTP_HOTP_RESYNC_WINDOW: '100'
  OTP_TOTP_STEPS: '1'
  OTP_VALIDATION_URLS: ''
  OTP_VALIDATION_CLIENT_ID: ''
  OTP_VALIDATION_TIMEOUT_SECONDS: '5'
  OTP_VALIDATION_TOTAL_SECONDS: '15'
  OTP_SPENT_DAYS: '30'
  SESSION_IDLE_SECONDS: '3600'
  SESSION_ABSOLUTE_SECONDS: '86400'
  SESSION_TOUCH_SECONDS: '60'
  SESSION_COOKIE_SECURE: 'true'
  CLIENT_ALLOWED_ORIGINS: ''
  CRON_SESSION_CLEANUP_SCHEDULE: '0 15 * * * *'
}

@export()
@description('Settings of the connector.')
var connectorDefaults = {
  FIDO_CONNECTOR_VERSION: ''
  CLOUD_TABLES_SHIPMENTS_TABLE_NAME: 'fprshipments'
  CRON_PROCESS_SHIPMENT_SCHEDULE: '0 0 * * * *'
  CRON_PROCESS_CREDENTIAL_REQUESTS_SCHEDULE: '0 0 * * * *'
  CRON_DATA_CLEANUP_SCHEDULE: '0 30 * * * *'
  CRON_DATA_CLEANUP_COMPLETED_DAYS: '0'
  PIN_MAIL_DOMAINS: ''
  DELIVERY_API_BASE_URL: ''
  DELIVERY_JWKS_SIGN_ENDPOINT: ''
  DELIVERY_JWKS_TRANSPORT_ENDPOINT: ''
  RFPR_API_BASE_URL: ''
  RFPR_RETRY_NUMBER_DAYS: '14'
  ENROLLMENT_SERVICE_API_BASE_URL: ''
  IDP_DEFAULT: 'entra'
  IDP_ENABLE_MULTI_IDP: 'false'
  IDP_CONFIGURATION_PATH: ''
  IDPA_FIDO_API_CLIENT_ID: ''
  IDPA_FIDO_API_VERSION: 'beta'
  IDPA_FIDO_API_CHALLENGE_TIMEOUT_MINUTES: '20160'
  IDPA_TENANT_ID: ''
  IDPA_GRAPH_ENDPOINT: 'https://graph.microsoft.com'
  IDPB_ENVIRONMENT: ''
  IDPB_DEFAULT_RELYING_PARTY: ''
  IDPB_AUTH_BASE_URL: ''
  IDPB_CLIENT_ID: ''
  IDPB_API_BASE_URL: ''
  IDPB_PRE_REGISTRATION_TIMEOUT_DAYS: ''
  IDPC_API_BASE_URL: ''
  IDPC_AUTH_BASE_URL: ''
  IDPC_REALM: ''
  IDPC_JOURNEY: ''
  IDPC_CLIENT_ID: ''
  IDPC_SCOPE: ''
  IDPC_AUTHENTICATION_HEADER: 'Authorization'
  IDPC_CALLBACK_1: 'NameCallback'
  IDPC_CALLBACK_2: 'MetadataCallback'
  IDPC_CALLBACK_3: 'HiddenValueCallback'
  IDPC_TOKEN_ID_1: 'IDToken1'
  IDPC_TOKEN_ID_2: 'IDToken2'
  IDPC_CHALLENGE_TIMEOUT_MILLISECONDS: ''
  RESEND_PIN_PER_HOUR: '5'
  LEASE_SECONDS: '180'
  IDP_TIMEOUT_SECONDS: '30'
  DELIVERY_TIMEOUT_SECONDS: '60'
  MAIL_TIMEOUT_SECONDS: '30'
  CREATE_TIMEOUT_SECONDS: '150'
  DELIVERY_MARK_MAX_AGE_SECONDS: '10'
  RECEIVED_MAX_AGE_SECONDS: '300'
  SETTLE_AFTER_SECONDS: '900'
  SETTLE_DAYS: '3'
  POLL_AFTER_SECONDS: '3600'
  POLL_MAX_SECONDS: '21600'
  SHIPMENT_MISSING_SECONDS: '86400'
  RETRY_MIN_SECONDS: '60'
  RETRY_MAX_SECONDS: '21600'
  READ_BACK_AFTER_SECONDS: '60'
  MAIL_RUNNING_SECONDS: '60'
  CREDENTIAL_MAX_DAYS: '180'
  DUE_STALE_SECONDS: '600'
  DUE_ORPHAN_SECONDS: '3600'
  JOB_ON_DEMAND_SECONDS: '100'
  JOB_TIMER_SECONDS: '420'
  JOB_CONCURRENCY: '8'
}

@export()
@description('Tables of the authentication server.')
var authTables = [
  'users'
  'ids'
  'otpkeys'
  'attributeusers'
  'sessions'
  'spentotps'
  'addresses'
  'expiry'
]

@export()
@description('Tables of the connector, besides the one of shipments, whose name is a setting.')
var connectorTables = [
  'credentialrequests'
  'due'
]

@export()
@description('Containers of the authentication server.')
var authContainers = []

@export()
@description('Containers of the connector.')
var connectorContainers = [
  'responses'
  'configuration'
]
