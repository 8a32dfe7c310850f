import { errorBody as authErrorBody } from "../../../functions/auth/errors.ts";
import { client, core } from "../../../functions/auth/routes.ts";
import { errorBody } from "../../../functions/connector/errors.ts";
import { connector } from "../../../functions/connector/routes.ts";
import { deploymentSettings } from "../../../lib/platform/settings/deployment-settings.ts";
import { type Environment, readSettings, settingsSchema } from "../../../lib/platform/settings/read-settings.ts";
import { clientTypes } from "./client-types.ts";
import { openapiDocument } from "./document.ts";
import { clientExamples } from "./examples/client.ts";
import { connectorExamples } from "./examples/connector.ts";
import { coreExamples } from "./examples/core.ts";
import { clientText, connectorText, coreText } from "./texts.ts";

const { CORE_PATH, CLIENT_PATH, CONNECTOR_PATH } = deploymentSettings.shape;
const pathSettings = settingsSchema({ CORE_PATH, CLIENT_PATH, CONNECTOR_PATH });

/**
 * Returns every OpenAPI document by its file, with the paths where the environment's settings place them (decision G2).
 * Throws BadSettings for a wrong path.
 */
export function openapiFiles(environment: Environment) {
  const paths = readSettings(pathSettings, environment);
  return {
    "docs/openapi/core.json": openapiDocument(core, {
      prefix: paths.CORE_PATH,
      errorBody: authErrorBody,
      text: coreText,
      examples: coreExamples,
    }),
    "docs/openapi/client.json": openapiDocument(client, {
      prefix: paths.CLIENT_PATH,
      errorBody: authErrorBody,
      text: clientText,
      examples: clientExamples,
    }),
    "docs/openapi/connector.json": openapiDocument(connector, {
      prefix: paths.CONNECTOR_PATH,
      errorBody,
      text: connectorText,
      examples: connectorExamples,
    }),
  };
}

/** Returns the types of the calls of the documents that the commands call, by file. */
export const typeFiles = (documents: ReturnType<typeof openapiFiles>): Readonly<Record<string, string>> => ({
  "docs/openapi/core.ts": clientTypes("core.json", documents["docs/openapi/core.json"]),
  "docs/openapi/connector.ts": clientTypes("connector.json", documents["docs/openapi/connector.json"]),
});
