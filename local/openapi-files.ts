import { errorBody } from "../functions/connector/errors.ts";
import { connector } from "../functions/connector/routes.ts";
import { deploymentSettings } from "../lib/deployment-settings.ts";
import { type Environment, readSettings } from "../lib/settings.ts";
import { openapiDocument } from "./openapi-document.ts";

const paths = deploymentSettings.pick({ CONNECTOR_PATH: true });

/** Every surface's document by the file that holds it, its paths where the environment's settings place them (decision G2). */
export function openapiFiles(environment: Environment): Readonly<Record<string, object>> {
  const { CONNECTOR_PATH } = readSettings(paths, environment);
  return { "docs/openapi/connector.json": openapiDocument(connector, { prefix: CONNECTOR_PATH, errorBody }) };
}
