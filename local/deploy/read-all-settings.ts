import { readAuthSettings } from "../../functions/auth/start/read-auth-settings.ts";
import { type ConnectorStart, readConnectorSettings } from "../../functions/connector/start/read-settings.ts";
import { readIdpFile } from "../../lib/connector/idp/idp-file.ts";
import { enabledApis } from "../../lib/platform/settings/api-paths.ts";
import { type DeploymentSettings, deploymentSettings } from "../../lib/platform/settings/deployment-settings.ts";
import { combineReads, type Environment, readSettings } from "../../lib/platform/settings/read-settings.ts";

interface Settings {
  readonly deployment: DeploymentSettings;
  /** Present if this deployment serves the Core API or the Client API. */
  readonly auth?: ReturnType<typeof readAuthSettings>;
  /** Present if this deployment serves the connector. */
  readonly connector?: ConnectorStart;
}

/**
 * Returns all settings of the environment, for tools that load both services. Throws BadSettings with every problem
 * (G14).
 */
export function readAllSettings(environment: Environment): Settings {
  const apis = enabledApis(environment);
  const servesAuth = apis.includes("core") || apis.includes("client");
  const [deployment, auth, connector] = combineReads(
    () => readSettings(deploymentSettings, environment),
    () => (servesAuth ? readAuthSettings(environment) : undefined),
    () => (apis.includes("connector") ? readConnectorSettings(environment, readIdpFile) : undefined),
  );
  return { deployment, ...(auth && { auth }), ...(connector && { connector }) };
}
