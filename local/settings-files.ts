import { authSettings } from "../lib/auth/settings.ts";
import { connectorSettings } from "../lib/connector/settings.ts";
import { deploymentSettings } from "../lib/deployment-settings.ts";
import { type SettingText, settingTexts } from "../lib/settings.ts";
import { infraFiles } from "./infra-files.ts";

/** Schemas of every setting by the heading under which they are told. */
export const settingSchemas = {
  "Every deployment": deploymentSettings,
  "Authentication server": authSettings,
  Connector: connectorSettings,
} as const;

/** What the Functions host itself reads. */
export const hostSettings = {
  FUNCTIONS_WORKER_RUNTIME: "node",
  AzureWebJobsStorage: "UseDevelopmentStorage=true",
  // Else the root shows a page of the host.
  AzureWebJobsDisableHomepage: "true",
} as const;

const introduction = `# Settings

Environment variables: app settings in Azure, \`Values\` of \`local.settings.json\` on a developer's machine
(\`local.settings.sample.json\` names them all), or the environment itself, which wins. An empty one counts as unset. All are read once, at the
start; wrong ones are named in one log event, and the app then answers 503 to everything.

Secrets are no settings: they lie in the vault. This file is written by \`npm run settings\`.
`;

/** What an administrator reads and copies, by file: made from the schemas alone. */
export const settingsFiles = (): Readonly<Record<string, string>> => ({
  "docs/settings.md": [
    introduction,
    ...Object.entries(settingSchemas).map(([title, schema]) => section(title, settingTexts(schema))),
  ].join("\n"),
  "local.settings.sample.json": `${JSON.stringify({ IsEncrypted: false, Values: sampleValues() }, undefined, 2)}\n`,
  ...infraFiles(),
});

const section = (title: string, settings: readonly SettingText[]): string =>
  [`## ${title}`, "", "| Setting | Default | Required | Meaning |", "|---|---|---|---|", ...settings.map(row), ""].join(
    "\n",
  );

const row = ({ name, defaultText, required, description }: SettingText): string =>
  `| \`${name}\` | ${defaultText ? `\`${defaultText}\`` : ""} | ${required ? "yes" : ""} | ${description.replaceAll("|", "\\|")} |`;

/** Defaults, and nothing where there is none: what is copied unchanged changes nothing. */
const sampleValues = (): Readonly<Record<string, string>> => ({
  ...hostSettings,
  ...Object.fromEntries(
    Object.values(settingSchemas)
      .flatMap(settingTexts)
      .map(({ name, defaultText = "" }) => [name, defaultText]),
  ),
  SERVICE_APIS: "core,client,connector",
});
