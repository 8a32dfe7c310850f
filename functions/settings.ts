import type { AuthSettings } from "../lib/auth/settings.ts";
import { type DeploymentSettings, deploymentSettings, enabledApis } from "../lib/deployment-settings.ts";
import { combineReads, type Environment, readSettings } from "../lib/settings.ts";
import { readAuthSettings } from "./auth/start/settings.ts";
import { type ConnectorStart, readConnectorSettings } from "./connector/start/settings.ts";

export interface Settings {
  readonly deployment: DeploymentSettings;
  /** Present where this deployment serves the Core or the Client API. */
  readonly auth?: AuthSettings;
  /** Present where this deployment serves the connector. */
  readonly connector?: ConnectorStart;
}

/**
 * Returns all settings of the environment, for tools that load both services. Throws BadSettings with every problem (G14).
 */
export function settingsOf(environment: Environment): Settings {
  const apis = enabledApis(environment);
  const servesAuth = apis.includes("core") || apis.includes("client");
  const [deployment, auth, connector] = combineReads(
    () => readSettings(deploymentSettings, environment),
    () => (servesAuth ? readAuthSettings(environment) : undefined),
    () => (apis.includes("connector") ? readConnectorSettings(environment) : undefined),
  );
  return { deployment, ...(auth && { auth }), ...(connector && { connector }) };
}
