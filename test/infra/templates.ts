import { readFileSync } from "node:fs";
import type { byHand, CaseName } from "./cases.ts";
import { isObject, type Json, patched, valueAt, withValueAt } from "./json.ts";

/** A resource as it would be sent to Azure. What only Azure knows is an expression in square brackets. */
export interface Deployed {
  readonly id: string;
  readonly type: string;
  /** Names of all levels, joined by slashes. */
  readonly name: string;
  readonly last: string;
  readonly body: Json;
}

export interface Deployment {
  readonly resources: readonly Deployed[];
  readonly outputs: Json;
}

/** What a resource waits for before it is created, and how its loop runs. */
interface Order {
  readonly type: string;
  /** Of a module. */
  readonly name?: string;
  readonly dependsOn?: readonly string[];
  readonly loop?: { readonly mode?: string; readonly batchSize?: number };
  readonly options?: { readonly onlyIfNotExists?: boolean };
}

interface Outline {
  readonly parameters: Readonly<
    Record<
      string,
      { readonly type?: string; readonly defaultValue?: unknown; readonly allowedValues?: readonly unknown[] }
    >
  >;
  readonly outputs: Readonly<Record<string, string>>;
  /** Secure parameters of modules, by the way to the module. */
  readonly secure: Readonly<Record<string, readonly string[]>>;
  /** By the way through modules, as in `authStore/endpoints`. */
  readonly order: Readonly<Record<string, Order>>;
}

type TemplateName = "main.bicep" | keyof typeof byHand;

const read = (name: string) => JSON.parse(readFileSync(`test/infra/snapshots/${name}.json`, "utf8"));

/** The compiled templates without what is in the snapshots. */
export const outline: Readonly<Record<TemplateName, Outline>> = read("outline");

const base = read("base");

/** The deployment of a set of parameters. */
export const deployed = (name: CaseName = "base"): Deployment =>
  deploymentOf(name === "base" ? base : patched(base, read(name)));

/** The deployment of a template that a person deploys. */
export const deployedByHand = (name: keyof typeof byHand): Deployment => deploymentOf(read(name));

const deploymentOf = ({ resources, outputs }: Json): Deployment => ({
  resources: Object.entries(resources as Readonly<Record<string, Json>>).map(([id, body]) => {
    const name = String(body.name);
    return { id, type: String(body.type), name, last: name.split("/").at(-1) ?? "", body };
  }),
  outputs: outputs as Json,
});

/** The part of names that is unique in the world. */
export const token = String(base.outputs.AUTH_VAULT_NAME).replace("kv-auth-", "");

/** Resources of a type. */
export const ofType = ({ resources }: Deployment, type: string): readonly Deployed[] =>
  resources.filter(each => each.type === type);

/** The values at a path, as in `properties.enabled`, of all resources of a type. */
export const valuesAt = (deployment: Deployment, type: string, path: string): readonly unknown[] =>
  ofType(deployment, type).map(({ body }) => valueAt(body, path));

/** The service that a resource belongs to by its name. */
export const isOf = (service: "auth" | "connector", { name }: Deployed): boolean =>
  new RegExp(service === "auth" ? "^(st|kv-)auth" : "^(st|kv-)conn").test(name);

/** The site of an API. */
export function siteOf(deployment: Deployment, api: string): Deployed {
  const found = ofType(deployment, "Microsoft.Web/sites").filter(
    ({ body }) => valueAt(body.tags, "azd-service-name") === api,
  );
  const [site] = found;
  if (found.length !== 1 || site === undefined) throw new Error(`${found.length} apps of ${api}`);
  return site;
}

/** The app settings of an API. */
export function appSettings(deployment: Deployment, api: string): Readonly<Record<string, string>> {
  const { name } = siteOf(deployment, api);
  const found = ofType(deployment, "Microsoft.Web/sites/config").find(each => each.name === `${name}/appsettings`);
  if (found === undefined) throw new Error(`no app settings of ${api}`);
  return found.body.properties as Readonly<Record<string, string>>;
}

/** What Azure would return in place of the expressions in app settings. */
const onceDeployed: Readonly<Record<string, string>> = {
  CLOUD_KEY_VAULT_ENDPOINT: "https://kv-sample.vault.azure.net/",
  CLOUD_TABLES_ENDPOINT: "https://stsample.table.core.windows.net/",
  CLOUD_STORAGE_BLOB_ENDPOINT: "https://stsample.blob.core.windows.net/",
  AZURE_CLIENT_ID: "55555555-5555-4555-8555-555555555555",
  APPLICATIONINSIGHTS_CONNECTION_STRING:
    "InstrumentationKey=44444444-4444-4444-8444-444444444444;IngestionEndpoint=https://sample",
  APPLICATIONINSIGHTS_AUTHENTICATION_STRING: "ClientId=55555555-5555-4555-8555-555555555555;Authorization=AAD",
  EMAIL_API_SEND_ENDPOINT: "https://acs-sample.europe.communication.azure.com",
  EMAIL_SENDER_ADDRESS: "donotreply@keys.example.com",
  IDPA_ONLINE_ENDPOINT: "https://login.microsoftonline.com",
};

/** The app settings of an API as an app gets them. */
export const settingsOnceDeployed = (deployment: Deployment, api: string): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(appSettings(deployment, api)).map(([name, value]) => [
      name,
      value.startsWith("[") ? (onceDeployed[name] ?? value) : value,
    ]),
  );

/** The names of everything that a resource waits for, at any distance. */
export function waitsFor(name: string, template: TemplateName = "main.bicep"): readonly string[] {
  const { order } = outline[template];
  const way = name.slice(0, name.lastIndexOf("/") + 1);
  const found = new Set<string>();
  const open = [name];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (order[next] === undefined && next === name) throw new Error(`there is no ${name}`);
    for (const each of order[next]?.dependsOn ?? []) {
      if (!found.has(each)) open.push(way + each);
      found.add(each);
    }
  }
  return [...found];
}

/** The deployment with another value in every resource of a type; undefined removes it. Throws an error if there is none. */
export function changed({ resources, outputs }: Deployment, type: string, path: string, value: unknown): Deployment {
  if (!resources.some(each => each.type === type)) throw new Error(`there is no ${type}`);
  const change = (each: Deployed): Deployed => {
    const body = withValueAt(each.body, path, value);
    return { ...each, body: isObject(body) ? body : {} };
  };
  return { resources: resources.map(each => (each.type === type ? change(each) : each)), outputs };
}
