import { readFileSync } from "node:fs";
import { authSettings } from "../../lib/auth/settings.ts";
import { authTables } from "../../lib/auth/tables.table.ts";
import { responsesContainer } from "../../lib/connector/collect/responses.blob.ts";
import { connectorSettings } from "../../lib/connector/settings.ts";
import { connectorTables } from "../../lib/connector/storage/requests.table.ts";
import { hostBodyLimitBytes } from "../../lib/platform/http/read-body.ts";
import { backupsContainer } from "../../lib/platform/maintenance/read-backup.ts";
import { deploymentSettings } from "../../lib/platform/settings/deployment-settings.ts";
import { describeSettings } from "./describe-settings.ts";

/** Settings that the templates compute, or that only a local run has. An administrator does not set them. */
const notGiven: readonly string[] = [
  "SERVICE_APIS",
  "PUBLIC_BASE_URL",
  "PROXY_ID",
  "CLOUD_TENANT_ID",
  "CLOUD_TABLES_ENDPOINT",
  "CLOUD_STORAGE_BLOB_ENDPOINT",
  "CLOUD_STORAGE_CONNECTION_STRING",
  "CLOUD_KEY_VAULT_ENDPOINT",
  "AZURE_CLIENT_ID",
  "APPLICATIONINSIGHTS_CONNECTION_STRING",
  "APPLICATIONINSIGHTS_AUTHENTICATION_STRING",
  "SESSION_COOKIE_SECURE",
  "EMAIL_API_SEND_ENDPOINT",
  "EMAIL_SENDER_ADDRESS",
  "EMAIL_CONNECTION_STRING",
];

const parametersPath = "infra/main.parameters.json";

/**
 * Returns the files of `infra/` that are generated from the code, by path. Of the parameters only the settings are
 * generated: the variable of a setting has its name. The others are written by hand. For azd an unset variable is an
 * empty text, which would replace the default of the template, so the defaults of texts are repeated there
 * (`${NAME=default}`). If the azd environment does not have a variable, azd reads it from the shell, so no name is one
 * that images and shells use for something else.
 */
export function infraFiles(): Readonly<Record<string, string>> {
  const parameterFile = JSON.parse(readFileSync(parametersPath, "utf8"));
  parameterFile.parameters.settings.value = {
    everyApp: givenOf(deploymentSettings),
    auth: givenOf(authSettings),
    connector: givenOf(connectorSettings),
  };
  return {
    "infra/code.json": json({
      hostBodyLimitBytes: String(hostBodyLimitBytes),
      settings: {
        everyApp: defaultsOf(deploymentSettings),
        auth: defaultsOf(authSettings),
        connector: defaultsOf(connectorSettings),
      },
      tables: { auth: authTables, connector: connectorTables("").filter(name => name !== "") },
      containers: { auth: [backupsContainer], connector: [backupsContainer, responsesContainer] },
    }),
    [parametersPath]: json(parameterFile),
  };
}

type Schema = Parameters<typeof describeSettings>[0];

/** Returns the settings that the templates set, with their defaults; empty texts for settings without one. */
const defaultsOf = (schema: Schema): Readonly<Record<string, string>> =>
  Object.fromEntries(
    describeSettings(schema)
      .filter(({ name }) => name === "SESSION_COOKIE_SECURE" || !notGiven.includes(name))
      .map(({ name, defaultText = "" }) => [name, defaultText]),
  );

const givenOf = (schema: Schema): Readonly<Record<string, string>> =>
  Object.fromEntries(
    describeSettings(schema)
      .filter(({ name }) => !notGiven.includes(name))
      .map(({ name }) => [name, `\${${name}}`]),
  );

const json = (value: unknown): string => `${JSON.stringify(value, undefined, 2)}\n`;
