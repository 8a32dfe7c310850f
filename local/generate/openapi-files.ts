import { errorBody as authErrorBody } from "../../functions/auth/errors.ts";
import { client, core } from "../../functions/auth/routes.ts";
import { errorBody } from "../../functions/connector/errors.ts";
import { connector } from "../../functions/connector/routes.ts";
import { deploymentSettings } from "../../lib/deployment-settings.ts";
import type { Environment } from "../../lib/settings.ts";
import { openapiDocument } from "./openapi-document.ts";

/** Every API's document by the file that holds it, its paths where the environment's settings place them (decision G2). */
export function openapiFiles(environment: Environment): Readonly<Record<string, object>> {
  const prefix = (name: "CORE_PATH" | "CLIENT_PATH" | "CONNECTOR_PATH") =>
    deploymentSettings.shape[name].parse(environment[name]);
  return {
    "docs/openapi/core.json": openapiDocument(core, { prefix: prefix("CORE_PATH"), errorBody: authErrorBody }),
    "docs/openapi/client.json": openapiDocument(client, { prefix: prefix("CLIENT_PATH"), errorBody: authErrorBody }),
    "docs/openapi/connector.json": openapiDocument(connector, { prefix: prefix("CONNECTOR_PATH"), errorBody }),
  };
}
