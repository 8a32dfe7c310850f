import * as z from "zod";
import { type IdpSettings, idpSettings } from "../lib/connector/idp/kinds.ts";
import { type ConnectorSettings, connectorSettings } from "../lib/connector/settings.ts";
import type { DeploymentSettings } from "../lib/deployment-settings.ts";
import { BadSettings } from "../lib/settings.ts";

type Variable = keyof ConnectorSettings;

/** Variables of each kind by the specification's names of its settings (decision C13). */
const kinds = {
  entra: {
    "client-id": "IDPA_FIDO_API_CLIENT_ID",
    "api-version": "IDPA_FIDO_API_VERSION",
    "challenge-timeout-minutes": "IDPA_FIDO_API_CHALLENGE_TIMEOUT_MINUTES",
    "tenant-id": "IDPA_TENANT_ID",
    "graph-endpoint": "IDPA_GRAPH_ENDPOINT",
    "online-endpoint": "IDPA_ONLINE_ENDPOINT",
  },
  pingone: {
    "environment-id": "IDPB_ENVIRONMENT",
    "default-relying-party": "IDPB_DEFAULT_RELYING_PARTY",
    "auth-base-url": "IDPB_AUTH_BASE_URL",
    "client-id": "IDPB_CLIENT_ID",
    "api-base-url": "IDPB_API_BASE_URL",
    "pre-registration-timeout-days": "IDPB_PRE_REGISTRATION_TIMEOUT_DAYS",
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
  },
} as const satisfies Record<IdpSettings["type"], Readonly<Record<string, Variable>>>;

/** The configured IdP of single-IdP mode (decision C13). Throws BadSettings that names the variables. */
export function singleIdp(
  connector: ConnectorSettings,
  deployment: DeploymentSettings,
): Readonly<Record<string, IdpSettings>> {
  if (connector.IDP_ENABLE_MULTI_IDP) {
    throw new BadSettings([
      { path: "IDP_ENABLE_MULTI_IDP", reason: "must be false: one identity provider a deployment" },
    ]);
  }
  const type = kindOf(connector);
  const variables: Readonly<Record<string, Variable>> = kinds[type];
  const told = Object.entries(variables).map(([name, variable]) => [name, connector[variable]] as const);
  const given = Object.fromEntries(told.filter(([, value]) => value !== undefined));
  const tenant = type === "entra" ? { "tenant-id": deployment.CLOUD_TENANT_ID } : {};
  const result = idpSettings.safeParse({ type, ...tenant, ...given });
  if (result.success) return { [connector.IDP_DEFAULT]: result.data };
  throw new BadSettings(
    result.error.issues.map(({ path: [name], code, message }) => ({
      path: variables[String(name)] ?? "IDP_DEFAULT",
      reason: code === "invalid_type" ? "must be set" : message,
    })),
  );
}

/** The one kind of which anything is set; kind B where nothing is. */
function kindOf(connector: ConnectorSettings): IdpSettings["type"] {
  const isSet = (variable: Variable) =>
    connector[variable] !== undefined && !(connectorSettings.shape[variable] instanceof z.ZodPrefault);
  const types = Object.keys(kinds) as (keyof typeof kinds)[];
  const [type = "entra", ...others] = types.filter(each => Object.values(kinds[each]).some(isSet));
  if (others.length === 0) return type;
  const reason = `must be true for several identity providers: ${[type, ...others].join(", ")} are set`;
  throw new BadSettings([{ path: "IDP_ENABLE_MULTI_IDP", reason }]);
}
