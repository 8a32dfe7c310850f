import { type ConnectorSettings, connectorSettings } from "../../../lib/connector/settings.ts";
import { deploymentSettings } from "../../../lib/platform/settings/deployment-settings.ts";
import { effectiveSettings } from "../../../lib/platform/settings/describe-settings.ts";
import { combineReads, type Environment, readSettings } from "../../../lib/platform/settings/read-settings.ts";
import { type IdpFileParser, type IdpSettingsAtStart, readIdpSettings } from "./read-idp-settings.ts";

/** The configuration of the connector. */
export interface ConnectorStart {
  readonly settings: ConnectorSettings;
  /** The effective settings as text, for status. */
  readonly settingTexts: Readonly<Record<string, string>>;
  readonly idps: IdpSettingsAtStart;
}

/**
 * Parses the settings of the connector. Throws BadSettings with every problem.
 * @param parseFile required if a file names the IdPs
 */
export function readConnectorSettings(environment: Environment, parseFile?: IdpFileParser): ConnectorStart {
  const [settings, idps] = combineReads(
    () => readSettings(connectorSettings, environment),
    () => readIdpSettings(environment, parseFile),
  );
  const settingTexts = {
    ...effectiveSettings(deploymentSettings, environment),
    ...effectiveSettings(connectorSettings, environment),
  };
  return { settings, settingTexts, idps };
}
