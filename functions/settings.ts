import { type AuthSettings, authSettings } from "../lib/auth/settings.ts";
import type { IdpSettings } from "../lib/connector/idp/kinds.ts";
import { type ConnectorSettings, connectorSettings } from "../lib/connector/settings.ts";
import { type DeploymentSettings, deploymentSettings, namedSurfaces } from "../lib/deployment-settings.ts";
import { type Environment, readAll, readSettings } from "../lib/settings.ts";
import { singleIdp } from "./idp-settings.ts";

export interface Settings {
  readonly deployment: DeploymentSettings;
  /** Present where this deployment serves the Core or the Client API. */
  readonly auth?: AuthSettings;
  /** Present where this deployment serves the connector. */
  readonly connector?: { readonly settings: ConnectorSettings; readonly idps: Readonly<Record<string, IdpSettings>> };
}

/** Everything the environment tells, parsed once. Throws BadSettings with every problem (decision G14). */
export function settingsOf(environment: Environment): Settings {
  const surfaces = namedSurfaces(environment);
  const servesAuth = surfaces.includes("core") || surfaces.includes("client");
  const [deployment, auth, connector] = readAll(
    () => readSettings(deploymentSettings, environment),
    () => (servesAuth ? readSettings(authSettings, environment) : undefined),
    () => (surfaces.includes("connector") ? readSettings(connectorSettings, environment) : undefined),
  );
  return {
    deployment,
    ...(auth && { auth }),
    ...(connector && { connector: { settings: connector, idps: singleIdp(connector, deployment) } }),
  };
}
