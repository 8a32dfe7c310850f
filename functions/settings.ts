import { type AuthSettings, authSettings } from "../lib/auth/settings.ts";
import { type ConnectorSettings, connectorSettings } from "../lib/connector/settings.ts";
import { type DeploymentSettings, deploymentSettings, namedSurfaces } from "../lib/deployment-settings.ts";
import { BadSettings, type Environment, readAll, readSettings, wellSet } from "../lib/settings.ts";
import { type IdpPlan, idpPlan } from "./idp-settings.ts";

export interface Settings {
  readonly deployment: DeploymentSettings;
  /** Present where this deployment serves the Core or the Client API. */
  readonly auth?: AuthSettings;
  /** Present where this deployment serves the connector. */
  readonly connector?: { readonly settings: ConnectorSettings; readonly idps: IdpPlan };
}

/** Everything the environment tells, parsed once. Throws BadSettings with every problem (decision G14). */
export function settingsOf(environment: Environment): Settings {
  const surfaces = namedSurfaces(environment);
  const servesAuth = surfaces.includes("core") || surfaces.includes("client");
  const servesConnector = surfaces.includes("connector");
  const [deployment, auth, connector, idps] = readAll(
    () => readSettings(deploymentSettings, environment),
    () => (servesAuth ? readSettings(authSettings, environment) : undefined),
    () => (servesConnector ? readSettings(connectorSettings, environment) : undefined),
    () => (servesConnector ? idpPlan(environment) : undefined),
    () => (servesAuth ? needProxies(environment) : undefined),
  );
  return {
    deployment,
    ...(auth && { auth }),
    ...(connector && idps && { connector: { settings: connector, idps } }),
  };
}

/** A limit of callers' addresses needs a proxy that tells them. */
function needProxies(environment: Environment): void {
  const { TRUSTED_PROXIES } = wellSet(deploymentSettings, environment);
  const { AUTH_ADDRESS_LIMIT = 0 } = wellSet(authSettings, environment);
  if (TRUSTED_PROXIES !== 0 || AUTH_ADDRESS_LIMIT === 0) return;
  const reason = "must be at least 1 with AUTH_ADDRESS_LIMIT: callers' addresses are told by proxies";
  throw new BadSettings([{ path: "TRUSTED_PROXIES", reason }]);
}
