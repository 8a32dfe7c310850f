metadata description = 'Puts one secret into a vault that is closed to the internet: az deployment group create, from anywhere.'

targetScope = 'resourceGroup'

@description('Name of the vault: AUTH_VAULT_NAME or CONNECTOR_VAULT_NAME of the azd environment.')
param vaultName string

@description('Name of the secret, as in delivery-api-token.')
param name string

@description('The secret itself. Leave it out of the command: it is asked for, and neither shown nor kept.')
@secure()
@minLength(1)
param value string

@description('When it expires, in seconds since 1970.')
@minValue(1000000000)
param expiresOn int

resource vault 'Microsoft.KeyVault/vaults@2026-02-01' existing = {
  name: vaultName
}

// Given by a person each time, so it is written each time: another value is a new version.
resource secret 'Microsoft.KeyVault/vaults/secrets@2026-02-01' = {
  parent: vault
  name: name
  properties: {
    value: value
    attributes: { exp: expiresOn }
  }
}
