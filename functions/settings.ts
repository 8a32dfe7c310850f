import type { IdpSettings } from "../lib/connector/idp/kinds.ts";
import { type ConnectorSettings, connectorSettings } from "../lib/connector/settings.ts";
import { type DeploymentSettings, deploymentSettings } from "../lib/deployment-settings.ts";
import { type Environment, readAll, readSettings } from "../lib/settings.ts";
import { singleIdp } from "./idp-settings.ts";

export interface Settings {
  readonly deployment: DeploymentSettings;
  /** Present where this deployment serves the connector. */
  readonly connector?: { readonly settings: ConnectorSettings; readonly idps: Readonly<Record<string, IdpSettings>> };
}

/** Everything the environment tells, parsed once. Throws BadSettings with every problem (decision G14). */
export function settingsOf(environment: Environment): Settings {
  const servesConnector = (environment["SERVICE_APIS"] ?? "").split(",").some(name => name.trim() === "connector");
  const [deployment, connector] = readAll(
    () => readSettings(deploymentSettings, environment),
    () => (servesConnector ? readSettings(connectorSettings, environment) : undefined),
  );
  if (connector === undefined) return { deployment };
  return { deployment, connector: { settings: connector, idps: singleIdp(connector, deployment) } };
}
