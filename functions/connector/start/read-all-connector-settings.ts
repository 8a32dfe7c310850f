import { readIdpFile } from "../../../lib/connector/idp/idp-file.ts";
import type { Environment } from "../../../lib/platform/settings/read-settings.ts";
import { type ConnectorStart, readConnectorSettings } from "./read-settings.ts";

/**
 * Parses the settings of the connector, with the parser of IdP files also where none is needed. Throws BadSettings with
 * every problem.
 */
export const readAllConnectorSettings = (environment: Environment): ConnectorStart =>
  readConnectorSettings(environment, readIdpFile);
