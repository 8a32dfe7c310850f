import { globSync, readFileSync } from "node:fs";
import { posix } from "node:path";
import type { BicepFile } from "./bicep/ast.ts";
import { type Deployed, type Deployment, deploy } from "./bicep/deploy.ts";
import { parseBicep } from "./bicep/parse.ts";

const folder = "infra";

/** Paths of all templates from the project's root. */
const templatePaths: readonly string[] = globSync(`${folder}/**/*.bicep`).map(path => path.replaceAll("\\", "/"));

/** Every template, parsed, by its path from `infra`. */
export const templates: ReadonlyMap<string, BicepFile> = new Map(
  templatePaths.map(path => {
    const name = posix.relative(folder, path);
    return [name, parseBicep(name, readFileSync(path, "utf8"))];
  }),
);

/** What an administrator must give. */
export const asked = {
  environmentName: "sample",
  mailDomain: "keys.example.com",
} as const;

/** As above, and what the preprovision hook gives. */
export const required = {
  ...asked,
  authDataKey: "A".repeat(43),
  authPepper: "B".repeat(43),
  connectorDataKey: "C".repeat(43),
  keysExpireOn: 1_900_000_000,
} as const;

/** As above, and the settings without which the connector does not start. */
export const sample = {
  ...required,
  connectorSettings: {
    DELIVERY_API_BASE_URL: "https://delivery.example.com",
    DELIVERY_JWKS_SIGN_ENDPOINT: "https://delivery.example.com/sign",
    DELIVERY_JWKS_TRANSPORT_ENDPOINT: "https://delivery.example.com/transport",
    IDPA_FIDO_API_CLIENT_ID: "33333333-3333-4333-8333-333333333333",
  },
} as const;

/** Returns what Azure would return for each resource. @param verified whether the mail domain's records were found */
const azureTells =
  (verified: boolean) =>
  ({ type, name }: Pick<Deployed, "type" | "name">): Readonly<Record<string, unknown>> => {
    const status = { status: verified ? "Verified" : "NotStarted" };
    const record = (kind: string) => ({ type: kind, name: "keys", value: "text", ttl: 3600 });
    const known: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
      "Microsoft.Storage/storageAccounts": {
        primaryEndpoints: {
          blob: `https://${name}.blob.core.windows.net/`,
          table: `https://${name}.table.core.windows.net/`,
        },
      },
      "Microsoft.KeyVault/vaults": { vaultUri: `https://${name}.vault.azure.net/` },
      "Microsoft.ManagedIdentity/userAssignedIdentities": {
        principalId: `principal of ${name}`,
        clientId: `client id of ${name}`,
      },
      "Microsoft.Insights/components": {
        ConnectionString: "InstrumentationKey=44444444-4444-4444-8444-444444444444;IngestionEndpoint=https://sample",
      },
      "Microsoft.Web/sites": { defaultHostName: `${name}.azurewebsites.net` },
      "Microsoft.Communication/communicationServices": { hostName: `${name}.europe.communication.azure.com` },
      "Microsoft.Communication/emailServices/domains": {
        mailFromSenderDomain: "keys.example.com",
        verificationStates: { Domain: status, SPF: status, DKIM: status, DKIM2: status },
        verificationRecords: {
          Domain: record("TXT"),
          SPF: record("TXT"),
          DKIM: record("CNAME"),
          DKIM2: record("CNAME"),
        },
      },
    };
    return { properties: known[type] ?? {} };
  };

/** The whole deployment for some parameters. */
export const deployed = (
  given: Readonly<Record<string, unknown>> = sample,
  { files = templates, verified = true } = {},
): Deployment =>
  deploy("main.bicep", given, {
    files,
    text: path => readFileSync(posix.join(folder, path), "utf8"),
    propertiesOnceDeployed: azureTells(verified),
  });

/** Resources of a type. */
export const ofType = ({ resources }: Deployment, type: string): readonly Deployed[] =>
  resources.filter(each => each.type === type && !each.existing);

/** The app settings of an API. */
export function appSettings(deployment: Deployment, api: string): Readonly<Record<string, string>> {
  const found = ofType(deployment, "Microsoft.Web/sites/config").filter(
    ({ body, way }) => body.name === "appsettings" && way[0] === api,
  );
  const [settings] = found;
  if (found.length !== 1 || settings === undefined) throw new Error(`${found.length} lists of app settings of ${api}`);
  return settings.body.properties as Readonly<Record<string, string>>;
}

/** The same templates with one text replaced, so that a check can be seen to fail. Throws where there is nothing to replace. */
export function planted(path: string, from: string, to: string): ReadonlyMap<string, BicepFile> {
  const source = templates.get(path)?.source ?? "";
  if (!source.includes(from)) throw new Error(`${path} has no ${from}`);
  return new Map([
    ...templates,
    [
      path,
      parseBicep(
        path,
        source.replace(from, () => to),
      ),
    ],
  ]);
}
