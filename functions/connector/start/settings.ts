import { type ConnectorSettings, connectorSettings } from "../../../lib/connector/settings.ts";
import { combineReads, type Environment, readSettings } from "../../../lib/settings.ts";
import { type IdpPlan, idpPlan } from "./idp-settings.ts";

/** What the connector is told. */
export interface ConnectorStart {
  readonly settings: ConnectorSettings;
  readonly idps: IdpPlan;
}

/** Throws BadSettings with every problem. */
export function readConnectorSettings(environment: Environment): ConnectorStart {
  const [settings, idps] = combineReads(
    () => readSettings(connectorSettings, environment),
    () => idpPlan(environment),
  );
  return { settings, idps };
}
