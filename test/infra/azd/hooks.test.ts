import { existsSync, readFileSync, renameSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it, vi } from "vitest";
import { place } from "../../../local/checks/bicep-compiler.ts";
import { sample } from "../cases.ts";
import { deployed } from "../templates.ts";
import { fine } from "./az-answers.ts";
import { type FakeCommands, fakeCommands } from "./fake-commands.ts";

/** A module of the hooks, which are plain JavaScript: a machine that deploys may have an older Node. */
const hook = <T>(name: string): Promise<T> => import(`../../../infra/hooks/${name}.mjs`);
const { commandLine } = await hook<{
  commandLine(command: string, parameters: readonly string[], platform: string): readonly unknown[];
}>("command");
const { createAz } = await hook<{
  createAz(timeoutMs: number, env: { PATH: string }): (...words: readonly string[]) => unknown;
}>("command");
const { nameToken, uniqueString, vaultNames } = await hook<{
  nameToken(groupId: string, environment: object): string;
  uniqueString(...values: readonly string[]): string;
  vaultNames(token: string): readonly string[];
}>("names");
const { minimumAz, preflight, providers } = await hook<{
  readonly minimumAz: string;
  preflight(environment: object, az: (...words: readonly string[]) => unknown): readonly string[];
  readonly providers: readonly string[];
}>("preflight");

const { isDomainLinked } = await hook<{
  isDomainLinked(az: () => unknown, environment: object, domain: string): boolean | undefined;
}>("mail-domain");

const sampleGroup = `/subscriptions/${place.subscriptionId}/resourceGroups/${place.resourceGroup}`;

/** Notes the arguments, and of a file of values its text and who may read it. */
const azd = `
const { appendFileSync, readFileSync, statSync } = require("node:fs");
const args = process.argv.slice(2);
const file = args[args.indexOf("--file") + 1];
const noted = { args, text: readFileSync(file, "utf8"), mode: statSync(file).mode & 0o777, file };
appendFileSync(directory + "/azd.log", JSON.stringify(noted) + "\\n");
`;

/** Ends the check of the settings as a failed installation of packages does. */
const failingCheck = "data:text/javascript,if(process.argv.includes('check-settings'))process.exit(1)";

/** Prints the last answer whose words are in the call; null fails. A shell script, because the hooks call it many times. */
const az = `#!/bin/sh
call="$*"
printf '%s\\n' "$call" >> "$directory/az.log"
answer=null
while read -r line; do
  words=\${line%%=*}
  [ -n "$words" ] || continue
  case "$call" in *"$words"*) answer=\${line#*=} ;; esac
done <<END
$AZ_ANSWERS
END
[ "$answer" != null ] || exit 1
printf '%s\\n' "$answer"
`;
const azAnswers = (answers: object) =>
  Object.entries(answers)
    .map(([words, answer]) => `${words}=${JSON.stringify(answer)}`)
    .join("\n");

const environment = {
  AZURE_ENV_NAME: "sample",
  AZURE_SUBSCRIPTION_ID: "11111111-1111-4111-8111-111111111111",
  AZURE_RESOURCE_GROUP: "rg-sample",
  AZURE_LOCATION: "swedencentral",
  MAIL_DOMAIN: "keys.example.com",
  DELIVERY_API_BASE_URL: "https://delivery.example.com",
  DELIVERY_JWKS_SIGN_ENDPOINT: "https://delivery.example.com/sign",
  DELIVERY_JWKS_TRANSPORT_ENDPOINT: "https://delivery.example.com/transport",
  IDPA_MANAGED_IDENTITY: "true",
};

interface Noted {
  readonly args: readonly string[];
  readonly text: string;
  readonly mode: number;
  readonly file: string;
}

let commands: FakeCommands | undefined;
afterEach(() => {
  commands?.remove();
  commands = undefined;
});

/** Runs a hook. @param answers of az, beside those where nothing is wrong */
async function ran(hook: string, answers: object = {}, more: Readonly<Record<string, string>> = {}) {
  commands ??= fakeCommands({ azd, az });
  const given = { ...environment, ...more, AZ_ANSWERS: azAnswers({ ...fine, ...answers }) };
  return commands.run(`infra/hooks/${hook}.mjs`, [], given);
}

/** What a hook that must fail prints as its reason. */
const refusal = (...run: Parameters<typeof ran>): Promise<string> =>
  ran(...run).then(
    output => {
      throw new Error(`It did not fail: ${output}`);
    },
    (error: Error) => error.message,
  );

const notes = (): readonly Noted[] => {
  const log = join(commands?.directory ?? "", "azd.log");
  if (!existsSync(log)) return [];
  return readFileSync(log, "utf8")
    .trim()
    .split("\n")
    .map(line => JSON.parse(line));
};
const valuesOf = (text = "") =>
  Object.fromEntries([...text.matchAll(/^(\w+)="(.*)"$/gm)].map(([, name, value]) => [name, value]));
const firstValues = () => valuesOf(notes()[0]?.text);

const linkedTo = (domain: string, name = "sample") => {
  const linkedDomains = [`/subscriptions/s/resourceGroups/g/emailServices/m/domains/${domain}`];
  return { communicationServices: { value: [{ tags: { "azd-env-name": name }, properties: { linkedDomains } }] } };
};

describe("the hook before a provision", () => {
  /** Without the checks, which have tests of their own. */
  const made = (answers: object = {}, more: object = {}) =>
    ran("preprovision", { "cloud show": { name: "Another" }, ...answers }, { SKIP_PREFLIGHT: "true", ...more });

  it("gives the template new keys in each run, by a file that only its owner can read and that is deleted afterwards", async () => {
    const output = await made();
    await made();
    const keys = notes().flatMap(({ text }) => {
      const { NEW_AUTH_DATA_KEY, NEW_AUTH_PEPPER, NEW_CONNECTOR_DATA_KEY, NEW_KEYS_EXPIRE_ON } = valuesOf(text);
      expect(Number(NEW_KEYS_EXPIRE_ON) * 1000 - Date.now()).toBeGreaterThan(364 * 86_400_000);
      return [NEW_AUTH_DATA_KEY, NEW_AUTH_PEPPER, NEW_CONNECTOR_DATA_KEY];
    });
    expect(new Set(keys).size).toBe(6);
    for (const key of keys) {
      expect(key).toMatch(/^[A-Za-z0-9_-]{43}$/);
      expect(output + JSON.stringify(notes().map(({ args }) => args))).not.toContain(key);
    }
    for (const { mode, file } of notes()) {
      expect(mode).toBe(0o600);
      expect(existsSync(file)).toBe(false);
    }
  });

  it.each([
    ["no service", { value: [] }, false],
    ["the domain in other letters", linkedTo("Keys.example.com").communicationServices, true],
    ["another domain", linkedTo("old.example.com").communicationServices, false],
    ["a service of another environment", linkedTo("keys.example.com", "another").communicationServices, false],
    ["no answer", undefined, undefined],
  ])("knows whether the mail domain is linked: %s", (_, answer, expected) => {
    expect(isDomainLinked(() => answer, environment, "keys.example.com")).toBe(expected);
  });

  it("has the template keep the mail domain linked, also one that azd asked for, and says nothing where Azure does not", async () => {
    await made(linkedTo("keys.example.com"), { MAIL_DOMAIN: "", MAIL_DOMAIN_NAME: "keys.example.com" });
    await made({ communicationServices: null });
    expect(notes().map(({ text }) => valuesOf(text).MAIL_DOMAIN_LINKED)).toEqual(["true", undefined]);
  });

  it("stops at another sender than Azure's own before the mail domain is linked, because Azure refuses it until later", async () => {
    const sender = { MAIL_SENDER_NAME: "security-keys" };
    const again = { ...sender, CORE_APP_NAME: "func-core" };
    expect(await refusal("preprovision", {}, sender)).toContain('MAIL_SENDER_NAME: Azure refuses "security-keys"');
    expect(await refusal("preprovision", {}, again)).toContain("until the mail");
    expect(notes()).toEqual([]);
    await ran("preprovision", linkedTo("keys.example.com"), again);
    await ran("preprovision", {}, { MAIL_SENDER_NAME: "DoNotReply" });
    expect(notes()).toHaveLength(2);
  });

  it("stops where azd does not accept the keys", async () => {
    commands = fakeCommands({ azd: "process.exitCode = 3;", az });
    await expect(made()).rejects.toThrow("azd env set failed: status 3");
  });

  it("writes its values to azd from a temporary directory with a space in its name", async () => {
    commands = fakeCommands({ azd, az }, "with a space ");
    await made({}, { TMPDIR: commands.directory });
    expect(notes()[0]?.file).toContain("with a space");
    expect(Object.keys(firstValues())).toContain("NEW_AUTH_PEPPER");
  });

  it("stops before a key is made, and prints every problem", async () => {
    const failure = await refusal("preprovision", { ...nodes(), ...zones([]) });
    expect(failure).toContain("This would make the deployment fail");
    expect(failure).toContain("- swedencentral offers no Node 24");
    expect(failure).toContain("- swedencentral has no availability zones");
    expect(notes()).toEqual([]);
  });

  it("continues without the Azure CLI, and names what is missing", async () => {
    commands = fakeCommands({ azd });
    const output = await ran("preprovision", {}, { PATH: commands.directory });
    expect(output).toContain("The Azure CLI is not installed");
    expect(output).toContain("Not checked: anything: the Azure CLI did not answer");
    expect(notes()).toHaveLength(1);
  });
});

describe("the file of several identity providers", () => {
  const several = { IDP_ENABLE_MULTI_IDP: "true", IDP_DEFAULT: "corporate" };

  it("gets the address that the storage account of the template will have", async () => {
    await ran("preprovision", {}, several);
    expect(firstValues().IDP_CONFIGURATION_PATH).toBe(
      `https://stconn${token}.blob.core.windows.net/configuration/idps.yaml`,
    );
    expect(deployed().outputs.CONNECTOR_STORAGE_NAME).toBe(`stconn${nameToken(sampleGroup, sample)}`);
  });

  it("keeps an address that is given, and is not needed with one identity provider", async () => {
    const IDP_CONFIGURATION_PATH = "https://stconna.blob.core.windows.net/configuration/own.yaml";
    await ran("preprovision", {}, { ...several, IDP_CONFIGURATION_PATH });
    expect(await ran("preprovision")).toBe("");
    expect(notes()).toHaveLength(2);
    for (const { text } of notes()) expect(valuesOf(text).IDP_CONFIGURATION_PATH).toBeUndefined();
  });

  it("stops the provision where its address cannot be computed", async () => {
    expect(await refusal("preprovision", { "group list": null }, several)).toContain("run `az login`");
  });
});

describe("what azd would refuse later", () => {
  it.each(["preup", "preprovision"])(
    "stops %s: a value that breaks the file of parameters, or a setting",
    async hook => {
      expect(await refusal(hook, {}, { PIN_MAIL_ORGANIZATION: "a\\c" })).toContain(
        "- PIN_MAIL_ORGANIZATION: azd writes",
      );
      const wrong = {
        DELIVERY_API_BASE_URL: "",
        DELIVERY_JWKS_SIGN_ENDPOINT: "example.com",
        IDPA_MANAGED_IDENTITY: "",
      };
      const failure = await refusal(hook, {}, wrong);
      expect(failure).toContain("- DELIVERY_API_BASE_URL: must be set (azd env set DELIVERY_API_BASE_URL …).");
      expect(failure).toContain("- DELIVERY_JWKS_SIGN_ENDPOINT: must be an https address");
      expect(failure).toContain("- IDPA_FIDO_API_CLIENT_ID: must be set");
      expect(notes()).toEqual([]);
    },
  );

  it("stops a hook that cannot check the settings, as without a package registry", async () => {
    const failure = await refusal("preup", {}, { NODE_OPTIONS: `--import=${failingCheck}` });
    expect(failure).toContain("The settings of the apps could not be checked:");
  });

  it("is not looked for with SKIP_PREFLIGHT, but for broken values", async () => {
    expect(await ran("preup", {}, { SKIP_PREFLIGHT: "true", DELIVERY_API_BASE_URL: "" })).toBe("");
    const broken = { SKIP_PREFLIGHT: "true", RESOURCE_TAGS: "costCenter" };
    expect(await refusal("preup", {}, broken)).toContain('RESOURCE_TAGS: "costCenter" is no pair');
  });

  it("is a missing mail domain, unless azd asked for it once", async () => {
    expect(await refusal("preup", {}, { MAIL_DOMAIN: "" })).toContain("- MAIL_DOMAIN: must be set");
    expect(await ran("preup", {}, { MAIL_DOMAIN: "", MAIL_DOMAIN_NAME: "keys.example.com" })).toBe("");
  });
});

describe("the hook before azd down", () => {
  const own = { id: "/own", tags: { "azd-env-name": "sample" } };

  it("stops before users, orders and backups are deleted, and names what does not belong to the environment", async () => {
    const failure = await refusal("predown", { "resource list": [own, { id: "/theirs", tags: null }] });
    expect(failure).toContain("azd down deletes the resource group rg-sample: users, orders and every backup in it.");
    expect(failure).toContain("Nothing was deleted:");
    expect(failure).not.toContain("deployment fail");
    expect(failure).toContain("/theirs");
    expect(failure).not.toContain("/own");
    expect(failure).toContain("azd env set DELETE_EVERYTHING rg-sample");
  });

  it("says that it does not know what else is in the group, and stops where it does not know the group", async () => {
    await expect(ran("predown", { "resource list": null })).rejects.toMatchObject({
      stdout: expect.stringContaining("Not checked: what else is in rg-sample."),
      stderr: expect.stringContaining("azd env set DELETE_EVERYTHING rg-sample"),
    });
    const unknown = { AZURE_RESOURCE_GROUP: "", DELETE_EVERYTHING: "rg-sample" };
    expect(await refusal("predown", {}, unknown)).toContain("AZURE_RESOURCE_GROUP is not set");
  });

  it("lets one run continue when the group is named, because the environment may be deployed again", async () => {
    const answers = { "resource list": [own] };
    expect(await refusal("predown", answers, { DELETE_EVERYTHING: "true" })).toContain("Nothing was deleted");
    expect(notes()).toEqual([]);
    expect(await ran("predown", answers, { DELETE_EVERYTHING: "rg-sample" })).toBe("");
    expect(notes().map(({ text }) => valuesOf(text))).toEqual([{ DELETE_EVERYTHING: "" }]);
  });
});

describe("the hook after a provision", () => {
  const done = { MAIL_DOMAIN_VERIFIED: "true", CALLER_AUDIENCES: "a" };
  const trial = { ...done, TRIAL: "true" };

  it.each([
    ["nothing where nothing is left to do", done, /^$/],
    ["the command that does what is left: the mail", { ...done, MAIL_DOMAIN_VERIFIED: "false" }, /finish -- --list/],
    ["the command that does what is left: the callers", { MAIL_DOMAIN_VERIFIED: "true" }, /finish -- --list/],
    ["what a trial gives up", trial, /never for real data.*Core answers to no address/],
    ["to whom a trial is open", { ...trial, CORE_DEPLOY_RANGE: "10.7.7.7/32" }, /Core answers to 10\.7\.7\.7\/32;/],
    [
      "that Core is open for a first user",
      { ...done, CORE_SETUP_RANGE: "10.0.0.0/8" },
      /from 10\S+\/8, until .*--close/,
    ],
  ])("deletes the keys from the environment, and prints %s", async (_, left, expected) => {
    expect(await ran("postprovision", {}, left)).toMatch(expected);
    expect(firstValues()).toEqual({ NEW_AUTH_DATA_KEY: "", NEW_AUTH_PEPPER: "", NEW_CONNECTOR_DATA_KEY: "" });
  });
});

describe("a command on Windows", () => {
  it("is started without a shell if it is azd, so that spaces in a path do no harm", () => {
    const words = ["env", "set", "--file", "C:\\Users\\Ada Lovelace\\values.env"];
    expect(commandLine("azd", words, "win32")).toEqual(["azd", words, { shell: false }]);
  });

  it("is started by a shell if it is az, which is a script, with every argument quoted", () => {
    expect(commandLine("az", ["provider", "list", "--query", '[?a=="b c"]'], "win32")).toEqual([
      'az "provider" "list" "--query" "[?a==""b c""]"',
      [],
      { shell: true },
    ]);
    expect(commandLine("az", ["cloud", "show"], "linux")).toEqual(["az", ["cloud", "show"], { shell: false }]);
  });
});

it("an Azure CLI that does not answer in time is not asked again", () => {
  commands = fakeCommands({ az: "setInterval(() => {}, 1000);", working: "console.log('{}');" });
  const env = { PATH: commands.directory };
  const slow = createAz(500, env);
  expect(slow("cloud", "show")).toBeUndefined();
  renameSync(join(commands.directory, "working"), join(commands.directory, "az"));
  expect(createAz(60_000, env)("account", "show")).toEqual({});
  expect(slow("account", "show")).toBeUndefined();
});

/** Runs the checks alone. Returns what they find, the calls of az, and what is printed. */
function checked(answers: object = {}, more: object = {}) {
  const [calls, told]: [string[], string[]] = [[], []];
  const all = Object.entries({ ...fine, ...answers });
  const print = vi.spyOn(console, "log").mockImplementation(line => void told.push(line));
  const problems = preflight({ ...environment, ...more }, (...words) => {
    const call = words.join(" ");
    calls.push(call);
    return all.findLast(([part]) => call.includes(part))?.[1] ?? undefined;
  });
  print.mockRestore();
  return { problems, calls, told: told.join("\n") };
}

const groupId = fine["group list"][0]?.id ?? "";
const token = nameToken(groupId, environment);
const [authVault = "", connectorVault = ""] = vaultNames(token);
const vaults = (more: object) => ({
  "resource list": [authVault, connectorVault].map(name => ({ name, resourceGroup: "RG-sample", ...more })),
});
const deleted = (name: string, properties: object = { purgeProtectionEnabled: true }) => ({
  "keyvault list-deleted": [{ name: "kv-other" }, { name, properties }],
});
const nodes = (...versions: readonly string[]) => ({
  "list-flexconsumption-runtimes": versions.map(version => ({ version })),
});
const newNodes = (...versions: readonly string[]) => ({
  "list-flexconsumption-runtimes": versions.map(version => ({
    sku: { functionAppConfigProperties: { runtime: { version } } },
  })),
});
const zones = (found: readonly object[] | null) => ({
  "account list-locations": [{ name: "swedencentral", zones: found }],
});
const cli = (version: string) => ({ version: { "azure-cli": version } });
const may = (scope: string, ...actions: readonly string[]) => ({ [scope]: { value: [{ actions }] } });
const mayNot = (...notActions: readonly string[]) => ({ permissions: { value: [{ actions: ["*"], notActions }] } });
const contributor = {
  actions: ["*"],
  notActions: ["Microsoft.Authorization/*/Delete", "Microsoft.Authorization/*/Write"],
};
const contributorWith = (...actions: readonly string[]) => ({ permissions: { value: [contributor, { actions }] } });
const locks = { RESOURCE_LOCKS: "true" };
const rolesOnly = "Microsoft.Authorization/roleAssignments/write";

const platform = "/subscriptions/s/resourceGroups/rg-platform";
const spoke = `${platform}/providers/Microsoft.Network/virtualNetworks/spoke`;
const subnet = (name: string, addressPrefix: string) => ({ name, properties: { addressPrefix } });
const network = (location: string, ...subnets: readonly object[]) => ({
  [`${spoke}?`]: { location, properties: { addressSpace: { addressPrefixes: ["10.20.0.0/21"] }, subnets } },
});
const inSpoke = { NETWORK_ID: spoke, NETWORK_PREFIX: "10.20.4.0/24" };
const besides = subnet("others", "10.20.5.0/24");
const ownSubnet = subnet(`snet-${token}-core`, "10.20.4.0/26");
const readOnly = {
  ...network("swedencentral"),
  ...may("permissions", "*"),
  ...may("rg-platform/providers/Microsoft.Auth", "*/read"),
  ...may("/spoke/providers", "*/read"),
};
const appSubnet = (prefix: string, delegations: readonly object[] = []) => ({
  "/subnets/core?": { properties: { addressPrefixes: [prefix], delegations } },
});
const delegations = [{ properties: { serviceName: "Microsoft.App/environments" } }];
const core = { SUBNET_ID_CORE: `${spoke}/subnets/core` };

describe("preflight", () => {
  const redundant = { ZONE_REDUNDANT: "true" };
  const otherZones = { "--zone-redundant true": [{ name: "northeurope" }] };
  const unregistered = { "provider list": fine["provider list"].slice(1), "provider register": null };
  const notAvailable = { "keyvault check-name": { nameAvailable: false } };
  const takenAuth = { [`check-name --name ${authVault}`]: { nameAvailable: false } };
  const formerly = (location: string) => deleted(authVault, { purgeProtectionEnabled: true, location });
  const used = subnet("snet-other-core", "10.20.4.192/26");
  const elsewhere = { ...inSpoke, NETWORK_PREFIX: "10.90.0.0/24" };
  const notRoles = "You may not do Microsoft.Authorization/roleAssignments/write in rg-sample";
  const recovered =
    /group create --name rg-sample --location swedencentral, az keyvault recover --name KV-\S+ .*sample. To/;
  const moved = /AZURE_LOCATION northeurope, .* az group create --name rg-sample --location northeurope/;
  it.each<[string, object, object, ...(string | RegExp)[]]>([
    ["nothing where nothing is wrong", {}, {}],
    ["another cloud", { "cloud show": { name: "AzureUSGovernment" } }, {}, "not for AzureUSGovernment"],
    ["no fault of the oldest Azure CLI that fits", cli(minimumAz), {}],
    ["no fault of a later version", cli("2.100.0"), {}],
    ["no fault of a next version", cli("3.0.0"), {}],
    ["a provider that cannot be registered", unregistered, {}, "Microsoft.App is not registered"],
    ["a region without Flex Consumption", {}, { AZURE_LOCATION: "westindia" }, /: take one of swedencentral, north/],
    ["a region without zones for Flex Consumption", otherZones, redundant, "zones: unset ZONE_REDUNDANT"],
    ["a region without the version of Node", nodes("22"), {}, "no Node 24: azd env set FUNCTIONS_NODE_VERSION to"],
    ["the version of Node in a newer form of the answer", newNodes("22", "24"), {}],
    ["no version of Node in a newer form of the answer", newNodes("22"), {}, "to one of 22"],
    ["zone-redundant storage in a region without zones", zones(null), {}, "azd env set STORAGE_SKU Standard_LRS"],
    ["no need of zones for a trial, which has no redundant storage", zones(null), { TRIAL: "true" }],
    ["a Contributor, who cannot assign roles", mayNot("Microsoft.Authorization/*/Write"), {}, notRoles],
    ["who cannot create locks", mayNot("Microsoft.Authorization/locks/*"), locks, /not do \S+locks\/write in/],
    ["no fault of one who may do all with roles", contributorWith("*/read", "Microsoft.Authorization/*"), locks],
    ["who may only assign roles", contributorWith("*/read", rolesOnly), locks, "for locks Owner or User Access Admin"],
    ["a deleted vault, with how to recover it", deleted(connectorVault.toUpperCase()), {}, recovered],
    ["a deleted vault of another region, where it is recovered only", formerly("northeurope"), {}, moved],
    ["a deleted vault of the same region", formerly("swedencentral"), {}, /keys: az group create/],
    ["a deleted vault of a trial, which may be purged", deleted(authVault, {}), {}, `purge --name ${authVault}`],
    ["the deployment in another region", vaults({ location: "northeurope" }), {}, "cannot be moved to swedencentral"],
    ["the deployment in its region", vaults({ location: "swedencentral" }), {}],
    ["a vault of another subscription", takenAuth, {}, new RegExp(`name ${authVault} is taken .* set NAME_SUFFIX`)],
    ["no fault of the deployment's own vaults", { ...notAvailable, ...vaults({}) }, {}],
    ["vaults of another group", { ...notAvailable, ...vaults({ resourceGroup: "rg" }) }, {}, authVault, connectorVault],
    ["a free range and the subnets of the last run", network("Sweden Central", besides, ownSubnet), inSpoke],
    ["a network in another region", network("westeurope"), inSpoke, "NETWORK_ID is in westeurope, the deployment in"],
    ["another range than that of the network", network("swedencentral"), elsewhere, "is no /24 of NETWORK_ID"],
    ["a range in use", network("swedencentral", used), inSpoke, "overlaps with the subnet snet-other-core"],
    ["a network that is only read", readOnly, inSpoke, "subnets/write", "SecurityGroups/write", "deployments/write"],
    ["an app's subnet of a /28", appSubnet("10.1.0.0/28", delegations), core, "SUBNET_ID_CORE has 10.1.0.0/28: an app"],
    ["an app's subnet without delegation", appSubnet("10.1.0.0/27"), core, "is not delegated to Microsoft.App/env"],
    ["no fault of an app's subnet that fits", appSubnet("10.1.0.0/27", delegations), core],
    ["no fault of an app's subnet that cannot be read", {}, core],
  ])("finds %s", (_, answers, more, ...expected) => {
    expect(checked(answers, more).problems).toEqual(
      expected.map(each => (typeof each === "string" ? expect.stringContaining(each) : expect.stringMatching(each))),
    );
  });

  it.each([
    ["SUBNET_ID_CORE", "Microsoft.Network/virtualNetworks/subnets/join/action", "Network Contributor"],
    ["NAT_GATEWAY_ID", "Microsoft.Network/*", "Network Contributor"],
    ["ROUTE_TABLE_ID", "Microsoft.Network/*", "Network Contributor"],
    ["DNS_ZONE_ID_BLOB", "Microsoft.Network/privateDnsZones/*", "Private DNS Zone Contributor"],
    [
      "IDENTITY_ID_CORE",
      "Microsoft.ManagedIdentity/userAssignedIdentities/*/assign/action",
      "Managed Identity Operator",
    ],
  ])("finds that the role to use %s is missing, also in another resource group", (name, action, role) => {
    const id = `${platform}/providers/x`;
    const problems = (actions: readonly string[], more = {}) =>
      checked(may(`${id}/providers`, ...actions), { [name]: id, ...more }).problems;
    const missing = expect.stringMatching(new RegExp(`on ${name} .* the role ${role} on it is needed`));
    expect(problems(["*/read"])).toEqual([missing]);
    expect(problems(["*/read", action])).toEqual([]);
    expect(problems(["*/read"], { TRIAL: "true" })).toEqual([]);
  });

  it.each(["2.45.0", "2.65.9", "1.99.0"])(
    "finds the Azure CLI %s too old, before it asks what such a one does not know",
    version => {
      const { problems, calls } = checked(cli(version));
      expect(problems).toEqual([
        expect.stringContaining(`The Azure CLI ${version} is too old, ${minimumAz} is needed`),
      ]);
      expect(calls.join()).not.toContain("flexconsumption");
    },
  );

  it.each([
    ["runtimes", { "list-flexconsumption-runtimes": null }, /whether swedencentral offers Node 24/],
    ["runtimes of a known form", { "list-flexconsumption-runtimes": [{}] }, /whether swedencentral offers Node 24/],
    ["regions", { "account list-locations": null }, /whether swedencentral has availability zones/],
    ["a login, after which nothing more is asked", { "account show": null }, /anything: run `az login`/],
  ])("reports that it did not check without %s", (_, answers, message) => {
    const { told, calls, problems } = checked(answers);
    expect(told).toMatch(new RegExp(`^Not checked: ${message.source}`));
    expect(problems).toEqual([]);
    if ("account show" in answers) expect(calls).toHaveLength(3);
  });

  it("continues where az has no permission, and reports what it did not check", () => {
    const silent = Object.fromEntries(Object.keys(fine).map(words => [words, null]));
    const { told, problems } = checked({ ...silent, "cloud show": fine["cloud show"], "account show": {} });
    expect(told.match(/Not checked/g)).toHaveLength(5);
    expect(problems).toEqual([]);
  });

  it("registers what is not registered, and asks for the subscription of the environment", () => {
    const { calls } = checked({ "provider list": fine["provider list"].slice(1) });
    expect(calls.filter(call => call.includes("provider register"))).toEqual([
      expect.stringContaining("provider register --namespace Microsoft.App --wait"),
    ]);
    for (const call of ["provider list", "provider register", "keyvault list-deleted"])
      expect(calls.join("\n")).toMatch(new RegExp(`${call}.*--subscription 1111`));
  });

  it("checks every provider of the templates", () => {
    const used = new Set(deployed().resources.map(({ type }) => type.split("/")[0] ?? ""));
    used.delete("Microsoft.Authorization");
    expect([...used, "Microsoft.App"].sort()).toEqual([...providers].sort());
  });

  it("makes no call about the region before one is chosen", () => {
    const { calls, problems } = checked({}, { AZURE_LOCATION: "" });
    expect(problems).toEqual([]);
    expect(calls.join()).not.toContain("list-flexconsumption");
  });

  it("computes names as the template does, in the case that the group has in Azure", () => {
    // By `bicep console`.
    expect(uniqueString("a", "b")).toBe("i3z4v3sp6aooa");
    expect(uniqueString("abcdefghijkl", "mnop")).toBe("wvdcxqdvwbgbi");
    expect(uniqueString("é")).toBe("5i6hbiqzwuby6");
    const { outputs } = deployed();
    expect(vaultNames(nameToken(sampleGroup, sample))).toEqual([outputs.AUTH_VAULT_NAME, outputs.CONNECTOR_VAULT_NAME]);
    expect(checked().calls.filter(call => call.includes("check-name"))).toEqual([
      expect.stringContaining(`--name ${authVault} `),
      expect.stringContaining(`--name ${connectorVault} `),
    ]);
  });

  it("needs what the documentation says", () => {
    const page = (name: string) => readFileSync(`docs/${name}.md`, "utf8");
    expect(page("deploy")).toContain(`Azure CLI ${minimumAz} or newer`);
    for (const name of ["deploy", "pipelines"])
      expect(page(name), name).toMatch(/^.*RESOURCE_LOCKS.*(\n.*)?User Access Administrator/m);
  });
});
