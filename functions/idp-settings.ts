import { type IdpSettings, idpSettings } from "../lib/connector/idp/kinds.ts";
import type { ConnectorSettings } from "../lib/connector/settings.ts";
import type { DeploymentSettings } from "../lib/deployment-settings.ts";
import { BadSettings } from "../lib/settings.ts";

/** Variables of kind B by the specification's names (decision C13). */
const kindB = {
  "client-id": "IDPA_FIDO_API_CLIENT_ID",
  "api-version": "IDPA_FIDO_API_VERSION",
  "challenge-timeout-minutes": "IDPA_FIDO_API_CHALLENGE_TIMEOUT_MINUTES",
  "tenant-id": "IDPA_TENANT_ID",
  "graph-endpoint": "IDPA_GRAPH_ENDPOINT",
  "online-endpoint": "IDPA_ONLINE_ENDPOINT",
} as const;

/** The configured IdPs of single-IdP mode (decision C13). Throws BadSettings that names the variables. */
export function singleIdp(
  connector: ConnectorSettings,
  deployment: DeploymentSettings,
): Readonly<Record<string, IdpSettings>> {
  const told = Object.entries(kindB).map(([name, variable]) => [name, connector[variable]] as const);
  const given = Object.fromEntries(told.filter(([, value]) => value !== undefined));
  const result = idpSettings.safeParse({ type: "entra", "tenant-id": deployment.CLOUD_TENANT_ID, ...given });
  if (result.success) return { [connector.IDP_DEFAULT]: result.data };
  throw new BadSettings(
    result.error.issues.map(({ path: [name], code, message }) => ({
      path: kindB[name as keyof typeof kindB] ?? "IDP_DEFAULT",
      reason: code === "invalid_type" ? "must be set" : message,
    })),
  );
}
