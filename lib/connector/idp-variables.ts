import type { IdpSettings } from "./idp/kinds.ts";
import type { ConnectorSettings } from "./settings.ts";

export type IdpVariable = keyof ConnectorSettings;

/** Variables of each kind by the specification's names of its settings (decision C13). */
export const idpVariables: Readonly<Record<IdpSettings["type"], Readonly<Record<string, IdpVariable>>>> = {
  entra: {
    "client-id": "IDPA_FIDO_API_CLIENT_ID",
    "api-version": "IDPA_FIDO_API_VERSION",
    "challenge-timeout-minutes": "IDPA_FIDO_API_CHALLENGE_TIMEOUT_MINUTES",
    "tenant-id": "IDPA_TENANT_ID",
    "graph-endpoint": "IDPA_GRAPH_ENDPOINT",
    "online-endpoint": "IDPA_ONLINE_ENDPOINT",
    "managed-identity": "IDPA_MANAGED_IDENTITY",
    "default-relying-party": "IDPA_DEFAULT_RELYING_PARTY",
  },
  pingone: {
    "environment-id": "IDPB_ENVIRONMENT",
    "default-relying-party": "IDPB_DEFAULT_RELYING_PARTY",
    "auth-base-url": "IDPB_AUTH_BASE_URL",
    "client-id": "IDPB_CLIENT_ID",
    "api-base-url": "IDPB_API_BASE_URL",
    "pre-registration-timeout-days": "IDPB_PRE_REGISTRATION_TIMEOUT_DAYS",
    "policy-id": "IDPB_POLICY_ID",
  },
  aic: {
    journey: "IDPC_JOURNEY",
    "challenge-timeout-milliseconds": "IDPC_CHALLENGE_TIMEOUT_MILLISECONDS",
    "api-base-url": "IDPC_API_BASE_URL",
    "authentication-header": "IDPC_AUTHENTICATION_HEADER",
    "token-id-1": "IDPC_TOKEN_ID_1",
    "token-id-2": "IDPC_TOKEN_ID_2",
    scope: "IDPC_SCOPE",
    realm: "IDPC_REALM",
    "client-id": "IDPC_CLIENT_ID",
    "callback-1": "IDPC_CALLBACK_1",
    "callback-2": "IDPC_CALLBACK_2",
    "callback-3": "IDPC_CALLBACK_3",
    "auth-base-url": "IDPC_AUTH_BASE_URL",
    "default-relying-party": "IDPC_DEFAULT_RELYING_PARTY",
  },
};
