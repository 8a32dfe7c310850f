import { existsSync, readFileSync, renameSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { place } from "../../../local/checks/bicep-compiler.ts";
import { sample } from "../cases.ts";
import { deployed } from "../templates.ts";
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

/** What az answers where nothing is wrong. */
const fine = {
  "cloud show": { name: "AzureCloud" },
  version: { "azure-cli": "2.90.0" },
  "account show": {},
  "provider list": providers.map(name => ({ name, state: "Registered" })),
  "provider register": {},
  "list-flexconsumption-locations": [{ name: "swedencentral" }, { name: "northeurope" }],
  "list-flexconsumption-runtimes": [{ version: "22" }, { version: "24" }],
  "account list-locations": [{ name: "swedencentral", zones: [{ logicalZone: "1" }] }],
  permissions: { value: [{ actions: ["*"], notActions: [] }] },
  "group list": [
    { name: "rg-Sample", id: "/subscriptions/11111111-1111-4111-8111-111111111111/resourceGroups/rg-Sample" },
  ],
  "resource list": [],
  "keyvault list-deleted": [],
  "keyvault check-name": { nameAvailable: true },
  communicationServices: { value: [] },
};

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

const notes = (): readonly Noted[] => {
  const log = join(commands?.directory ?? "", "azd.log");
  if (!existsSync(log)) return [];
  return readFileSync(log, "utf8")
    .trim()
    .split("\n")
    .map(line => JSON.parse(line));
};
const azCalls = () => readFileSync(join(commands?.directory ?? "", "az.log"), "utf8");
const valuesOf = (text = "") =>
  Object.fromEntries([...text.matchAll(/^(\w+)="(.*)"$/gm)].map(([, name, value]) => [name, value]));

describe("the hook before a provision", () => {
  /** Without the checks, which have tests of their own. */
  const made = (answers: object = {}, more: object = {}) =>
    ran("preprovision", answers, { SKIP_PREFLIGHT: "true", ...more });

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

  it("reports that the mail domain is linked, so that the template keeps it linked", async () => {
    const id = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Communication/emailServices/m/domains/";
    const services = (name: string, domain: string) => ({
      communicationServices: {
        value: [{ tags: { "azd-env-name": name }, properties: { linkedDomains: [id + domain] } }],
      },
    });
    const answers = [
      {},
      services("sample", "Keys.example.com"),
      services("sample", "old.example.com"),
      services("another", "keys.example.com"),
      { communicationServices: null },
    ];
    for (const answer of answers) await made(answer);
    expect(notes().map(({ text }) => valuesOf(text).MAIL_DOMAIN_LINKED)).toEqual([
      "false",
      "true",
      "false",
      "false",
      undefined,
    ]);
  });

  it("takes the mail domain from the first provision where azd asked for it, because the answer is no variable", async () => {
    const linkedDomains = ["/emailServices/m/domains/keys.example.com"];
    const service = { tags: { "azd-env-name": "sample" }, properties: { linkedDomains } };
    const answered = { MAIL_DOMAIN: "", MAIL_DOMAIN_NAME: "keys.example.com" };
    await made({ communicationServices: { value: [service] } }, answered);
    expect(valuesOf(notes()[0]?.text).MAIL_DOMAIN_LINKED).toBe("true");
  });

  it("stops at another sender than Azure's own before the mail domain is linked, because Azure refuses it until later", async () => {
    const sender = { MAIL_SENDER_NAME: "security-keys" };
    await expect(ran("preprovision", {}, sender)).rejects.toThrow('MAIL_SENDER_NAME: Azure refuses "security-keys"');
    await expect(ran("preprovision", {}, { ...sender, CORE_APP_NAME: "func-core" })).rejects.toThrow("until the mail");
    expect(notes()).toEqual([]);
    const linkedDomains = ["/emailServices/m/domains/keys.example.com"];
    const services = { value: [{ tags: { "azd-env-name": "sample" }, properties: { linkedDomains } }] };
    await ran("preprovision", { communicationServices: services }, { ...sender, CORE_APP_NAME: "func-core" });
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
    expect(Object.keys(valuesOf(notes()[0]?.text))).toContain("NEW_AUTH_PEPPER");
  });
});

describe("a command on Windows", () => {
  it("is started without a shell if it is azd, so that spaces in a path do no harm", () => {
    const file = "C:\\Users\\Ada Lovelace\\AppData\\values.env";
    expect(commandLine("azd", ["env", "set", "--file", file], "win32")).toEqual([
      "azd",
      ["env", "set", "--file", file],
      { shell: false },
    ]);
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

/** Runs the checks alone. */
function flown(answers: object, more: object = {}) {
  const calls: string[] = [];
  const all = Object.entries({ ...fine, ...answers });
  const problems = preflight({ ...environment, ...more }, (...words) => {
    const call = words.join(" ");
    calls.push(call);
    return all.findLast(([part]) => call.includes(part))?.[1] ?? undefined;
  });
  return { problems, calls };
}

describe("preflight", () => {
  it("finds nothing where nothing is wrong, and asks for the subscription of the environment", async () => {
    expect(await ran("preprovision")).toBe("");
    for (const call of ["provider list", "keyvault list-deleted"])
      expect(azCalls()).toMatch(new RegExp(`${call}.*--subscription 1111`));
  });

  it("checks every provider of the templates", () => {
    const used = [...new Set(deployed().resources.map(({ type }) => type.split("/")[0]))].filter(
      name => name !== "Microsoft.Authorization",
    );
    expect([...used, "Microsoft.App"].sort()).toEqual([...providers].sort());
  });

  it.each([
    ["another cloud", { "cloud show": { name: "AzureUSGovernment" } }, {}, "not for AzureUSGovernment"],
    [
      "a provider that cannot be registered",
      { "provider list": [], "provider register": null },
      {},
      "Microsoft.Communication is not registered",
    ],
    [
      "a region without Flex Consumption",
      {},
      { AZURE_LOCATION: "westindia" },
      "westindia does not offer Flex Consumption: take one of swedencentral, northeurope.",
    ],
    [
      "a region without zones for Flex Consumption",
      { "--zone-redundant true": [{ name: "northeurope" }] },
      { ZONE_REDUNDANT: "true" },
      "with availability zones: unset ZONE_REDUNDANT",
    ],
    [
      "a region without the version of Node",
      { "list-flexconsumption-runtimes": [{ version: "22" }] },
      {},
      "offers no Node 24: azd env set FUNCTIONS_NODE_VERSION to one of 22",
    ],
    [
      "zone-redundant storage in a region without zones",
      { "account list-locations": [{ name: "swedencentral", zones: null }] },
      {},
      "azd env set STORAGE_SKU Standard_LRS",
    ],
    [
      "a Contributor, who cannot assign roles",
      { permissions: { value: [{ actions: ["*"], notActions: ["Microsoft.Authorization/*/Write"] }] } },
      {},
      "You may not do Microsoft.Authorization/roleAssignments/write in rg-sample",
    ],
    [
      "an administrator of roles, who cannot create locks",
      { permissions: { value: [{ actions: ["*"], notActions: ["Microsoft.Authorization/locks/*"] }] } },
      { RESOURCE_LOCKS: "true" },
      "Microsoft.Authorization/locks/write",
    ],
  ])("finds %s", (_, answers, more, expected) => {
    const { problems } = flown(answers, more);
    expect(problems).toEqual(expect.arrayContaining([expect.stringContaining(expected)]));
  });

  it("finds an Azure CLI that is too old, before it asks what such a one does not know", () => {
    for (const version of ["2.45.0", "2.65.9", "1.99.0"]) {
      const { problems, calls } = flown({ version: { "azure-cli": version } });
      expect(problems).toEqual([
        expect.stringContaining(`The Azure CLI ${version} is too old, ${minimumAz} is needed`),
      ]);
      expect(calls.join()).not.toContain("flexconsumption");
    }
    for (const version of [minimumAz, "2.66.1", "2.100.0", "3.0.0"])
      expect(flown({ version: { "azure-cli": version } }).problems).toEqual([]);
    expect(readFileSync("docs/deploy.md", "utf8")).toContain(`Azure CLI ${minimumAz} or newer`);
  });

  it("accepts for locks a Contributor with User Access Administrator, as docs/pipelines.md says, and no role that only assigns roles", () => {
    const contributor = {
      actions: ["*"],
      notActions: ["Microsoft.Authorization/*/Delete", "Microsoft.Authorization/*/Write"],
    };
    const withRole = (...actions: readonly string[]) =>
      flown({ permissions: { value: [contributor, { actions }] } }, { RESOURCE_LOCKS: "true" }).problems;
    expect(withRole("*/read", "Microsoft.Authorization/*")).toEqual([]);
    expect(withRole("*/read", "Microsoft.Authorization/roleAssignments/write")).toEqual([
      expect.stringContaining("for locks Owner or User Access Administrator"),
    ]);
    for (const page of ["deploy", "pipelines"]) {
      const text = readFileSync(`docs/${page}.md`, "utf8");
      expect(text, page).toMatch(/^.*RESOURCE_LOCKS.*(\n.*)?User Access Administrator/m);
    }
  });

  it("stops the provision before a key is made, and prints every problem", async () => {
    const answers = { "list-flexconsumption-runtimes": [], "account list-locations": [{ name: "swedencentral" }] };
    const failure = await ran("preprovision", answers).catch((error: Error) => error.message);
    expect(failure).toContain("This would make the deployment fail");
    expect(failure).toContain("- swedencentral offers no Node 24");
    expect(failure).toContain("- swedencentral has no availability zones");
    expect(notes()).toEqual([]);
  });

  it("registers what is not registered", () => {
    const { calls } = flown({ "provider list": providers.slice(1).map(name => ({ name, state: "Registered" })) });
    expect(calls.filter(call => call.includes("provider register"))).toEqual([
      expect.stringContaining("provider register --namespace Microsoft.App --wait"),
    ]);
  });

  it.each([
    ["runtimes", { "list-flexconsumption-runtimes": null }, /Not checked: whether swedencentral offers Node 24/],
    ["runtimes of an unknown form", { "list-flexconsumption-runtimes": [{}] }, /Not checked: whether .* Node 24/],
    ["regions", { "account list-locations": null }, /Not checked: whether swedencentral has availability zones/],
  ])("reports that it did not check without %s", async (_, answers, message) => {
    expect(await ran("preprovision", answers)).toMatch(message);
  });

  it("reads both forms in which the Azure CLI names the versions of Node", () => {
    const runtime = (version: string) => ({ sku: { functionAppConfigProperties: { runtime: { version } } } });
    expect(flown({ "list-flexconsumption-runtimes": [runtime("22"), runtime("24")] }).problems).toEqual([]);
    expect(flown({ "list-flexconsumption-runtimes": [runtime("22")] }).problems).toHaveLength(1);
  });

  it("continues where az has no permission, and reports what it did not check", async () => {
    const silent = Object.fromEntries(Object.keys(fine).map(words => [words, null]));
    const output = await ran("preprovision", { ...silent, "cloud show": fine["cloud show"], "account show": {} });
    expect(output.match(/Not checked/g)).toHaveLength(5);
    expect(notes()).toHaveLength(1);
  });

  it("continues without the Azure CLI, and names what is missing", async () => {
    commands = fakeCommands({ azd });
    const output = await ran("preprovision", {}, { PATH: commands.directory });
    expect(output).toContain("The Azure CLI is not installed");
    expect(output).toContain("Not checked: anything: the Azure CLI did not answer");
    expect(notes()).toHaveLength(1);
  });

  it("does not ask an Azure CLI again that does not answer in time", () => {
    commands = fakeCommands({ az: "setInterval(() => {}, 1000);", working: "console.log('{}');" });
    const env = { PATH: commands.directory };
    const slow = createAz(500, env);
    expect(slow("cloud", "show")).toBeUndefined();
    renameSync(join(commands.directory, "working"), join(commands.directory, "az"));
    expect(createAz(60_000, env)("account", "show")).toEqual({});
    expect(slow("account", "show")).toBeUndefined();
  });

  it("names the missing login, makes no further call and continues", async () => {
    expect(await ran("preprovision", { "account show": null })).toContain("Not checked: anything: run `az login`");
    expect(flown({ "account show": null }).calls).toHaveLength(3);
    expect(notes()).toHaveLength(1);
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
    const id = "/subscriptions/s/resourceGroups/rg-platform/providers/x";
    const rights = (...actions: readonly string[]) => ({ [`${id}/providers`]: { value: [{ actions }] } });
    expect(flown(rights("*/read"), { [name]: id }).problems).toEqual([
      expect.stringMatching(new RegExp(`on ${name} .* the role ${role} on it is needed`)),
    ]);
    expect(flown(rights("*/read", action), { [name]: id }).problems).toEqual([]);
    expect(flown(rights("*/read"), { [name]: id, TRIAL: "true" }).problems).toEqual([]);
  });

  it("is left out when SKIP_PREFLIGHT says so", async () => {
    await ran("preprovision", { "cloud show": { name: "AzureUSGovernment" } }, { SKIP_PREFLIGHT: "true" });
    expect(notes()).toHaveLength(1);
  });

  it("asks for no zones for a trial, which has no redundant storage", () => {
    const noZones = { "account list-locations": [{ name: "swedencentral", zones: null }] };
    expect(flown(noZones, { TRIAL: "true" }).problems).toEqual([]);
    expect(flown(noZones).problems).toHaveLength(1);
  });

  it("makes no call about the region before one is chosen", () => {
    const { calls, problems } = flown({}, { AZURE_LOCATION: "" });
    expect(problems).toEqual([]);
    expect(calls.join()).not.toContain("list-flexconsumption");
  });
});

describe("a vault name that is taken", () => {
  const groupId = fine["group list"][0]?.id ?? "";
  const [authVault = "", connectorVault = ""] = vaultNames(nameToken(groupId, environment));
  const deleted = (name: string, purgeProtectionEnabled = true) => ({ name, properties: { purgeProtectionEnabled } });

  it("is computed as the template computes it, in the case that the group has in Azure", () => {
    // By `bicep console`.
    expect(uniqueString("a", "b")).toBe("i3z4v3sp6aooa");
    expect(uniqueString("abcdefghijkl", "mnop")).toBe("wvdcxqdvwbgbi");
    expect(uniqueString("é")).toBe("5i6hbiqzwuby6");
    const { outputs } = deployed();
    expect(vaultNames(nameToken(sampleGroup, sample))).toEqual([outputs.AUTH_VAULT_NAME, outputs.CONNECTOR_VAULT_NAME]);
    expect(flown({}).calls.filter(call => call.includes("check-name"))).toEqual([
      expect.stringContaining(`--name ${authVault} `),
      expect.stringContaining(`--name ${connectorVault} `),
    ]);
  });

  it("by a deleted vault is named before the provision, with how to recover it", () => {
    const answers = { "keyvault list-deleted": [deleted("kv-other"), deleted(connectorVault.toUpperCase())] };
    const { problems } = flown(answers);
    expect(problems).toEqual([expect.stringContaining(`az keyvault recover --name ${connectorVault.toUpperCase()}`)]);
    expect(problems[0]).toContain("az group create --name rg-sample --location swedencentral");
    expect(problems[0]).not.toContain("purge");
  });

  it("by a vault that was deleted in another region is named with that region, because it is recovered there only", () => {
    const former = { name: authVault, properties: { purgeProtectionEnabled: true, location: "northeurope" } };
    const { problems } = flown({ "keyvault list-deleted": [former] });
    expect(problems).toEqual([expect.stringContaining("azd env set AZURE_LOCATION northeurope")]);
    expect(problems[0]).toContain("az group create --name rg-sample --location northeurope");
    const here = { ...former, properties: { ...former.properties, location: "swedencentral" } };
    expect(flown({ "keyvault list-deleted": [here] }).problems[0]).not.toContain("AZURE_LOCATION");
  });

  it("by the deployment itself in another region is a problem, because Azure moves nothing", () => {
    const vaultIn = (location: string) => ({
      "resource list": [authVault, connectorVault].map(name => ({ name, resourceGroup: "rg-sample", location })),
    });
    expect(flown(vaultIn("northeurope")).problems).toEqual([
      expect.stringContaining("The deployment is in northeurope and cannot be moved to swedencentral"),
    ]);
    expect(flown(vaultIn("swedencentral")).problems).toEqual([]);
  });

  it("by a deleted vault of a trial may be purged", () => {
    const { problems } = flown({ "keyvault list-deleted": [deleted(authVault, false)] });
    expect(problems).toEqual([expect.stringContaining(`az keyvault purge --name ${authVault}`)]);
  });

  it("in another subscription or tenant is found by Azure's own check", () => {
    const { problems } = flown({ [`check-name --name ${authVault}`]: { nameAvailable: false } });
    expect(problems).toEqual([expect.stringMatching(`The name ${authVault} is taken .* azd env set NAME_SUFFIX`)]);
  });

  it("is no problem where the vault is this deployment's own", () => {
    const vaults = (resourceGroup: string) => [authVault, connectorVault].map(name => ({ name, resourceGroup }));
    const taken = { "keyvault check-name": { nameAvailable: false } };
    expect(flown({ ...taken, "resource list": vaults("RG-sample") }).problems).toEqual([]);
    expect(flown({ ...taken, "resource list": vaults("rg-other") }).problems).toHaveLength(2);
  });
});

/** Ids of six subnets of yours, by variable. */
const subnetIds = (): Readonly<Record<string, string>> => {
  const uses = ["CORE", "CLIENT", "CONNECTOR", "AUTH_ENDPOINTS", "CONNECTOR_ENDPOINTS", "CORE_ENDPOINT"];
  const network = "/subscriptions/s/resourceGroups/rg-platform/providers/Microsoft.Network/virtualNetworks/hub";
  return Object.fromEntries(uses.map(use => [`SUBNET_ID_${use}`, `${network}/subnets/${use.replaceAll("_", "-")}`]));
};

describe("a network of yours", () => {
  const id = "/subscriptions/s/resourceGroups/rg-platform/providers/Microsoft.Network/virtualNetworks/spoke";
  const subnet = (name: string, addressPrefix: string) => ({ name, properties: { addressPrefix } });
  const network = (location: string, ...subnets: readonly object[]) => ({
    [`${id}?`]: { location, properties: { addressSpace: { addressPrefixes: ["10.20.0.0/21"] }, subnets } },
  });
  const more = { NETWORK_ID: id, NETWORK_PREFIX: "10.20.4.0/24" };
  const token = nameToken(fine["group list"][0]?.id ?? "", environment);

  it("is accepted in the region of the deployment with a free /24, also when the subnets are there from the last run", () => {
    const fits = network(
      "Sweden Central",
      subnet("others", "10.20.5.0/24"),
      subnet(`snet-${token}-core`, "10.20.4.0/26"),
    );
    expect(flown(fits, more).problems).toEqual([]);
  });

  it.each([
    ["another region", network("westeurope"), {}, "NETWORK_ID is in westeurope, the deployment in swedencentral."],
    ["another range", network("swedencentral"), { NETWORK_PREFIX: "10.90.0.0/24" }, "is no /24 of NETWORK_ID"],
    [
      "a range in use",
      network("swedencentral", subnet("snet-other-core", "10.20.4.192/26")),
      {},
      "overlaps with the subnet snet-other-core",
    ],
  ])("is refused with %s", (_, answers, other, problem) => {
    expect(flown(answers, { ...more, ...other }).problems).toEqual([expect.stringContaining(problem)]);
  });

  it("is refused without a range of its own, and together with subnets of yours", async () => {
    await expect(ran("preup", {}, { NETWORK_ID: id })).rejects.toThrow("set NETWORK_PREFIX to a free /24 of it");
    const subnets = subnetIds();
    await expect(ran("preup", {}, { ...subnets, ...more })).rejects.toThrow("unset NETWORK_ID");
  });

  it("needs the right to create subnets in it, and their security groups in its resource group", () => {
    const read = { permissions: { value: [{ actions: ["*"] }] } };
    const onPlatform = { "rg-platform/providers/Microsoft.Auth": { value: [{ actions: ["*/read"] }] } };
    const onNetwork = { "/spoke/providers": { value: [{ actions: ["*/read"] }] } };
    const { problems } = flown({ ...network("swedencentral"), ...read, ...onPlatform, ...onNetwork }, more);
    expect(problems).toEqual([
      expect.stringContaining("virtualNetworks/subnets/write"),
      expect.stringContaining("networkSecurityGroups/write"),
      expect.stringContaining("Microsoft.Resources/deployments/write"),
    ]);
  });
});

describe("a value that would break the file of parameters", () => {
  it.each(["preup", "preprovision"])("is named by %s, with how to write it", async hook => {
    await expect(ran(hook, {}, { PIN_MAIL_ORGANIZATION: 'a "b" c' })).rejects.toThrow(
      /PIN_MAIL_ORGANIZATION: azd writes .* Write \\" for a/,
    );
    await expect(ran(hook, {}, { PIN_MAIL_ORGANIZATION: "a\\c" })).rejects.toThrow("PIN_MAIL_ORGANIZATION");
    expect(await ran(hook, {}, { SKIP_PREFLIGHT: "true", PIN_MAIL_ORGANIZATION: 'a \\"b\\" \\\\ c', OTHER: '"' })).toBe(
      "",
    );
  });
});

describe("a list of pairs", () => {
  it.each(["preup", "preprovision"])(
    "is refused by %s if a part is no pair, because the template leaves it out",
    async hook => {
      await expect(ran(hook, {}, { RESOURCE_TAGS: "costCenter" })).rejects.toThrow(
        'RESOURCE_TAGS: "costCenter" is no pair',
      );
      await expect(ran(hook, {}, { RESOURCE_TAGS: "a=1,,b=2" })).rejects.toThrow('RESOURCE_TAGS: "" is no pair');
      for (const list of ["10.90.1.0/27", "runners=", "runners=a=b"])
        await expect(ran(hook, {}, { ADDITIONAL_SUBNETS: list })).rejects.toThrow("ADDITIONAL_SUBNETS");
      await expect(ran(hook, {}, { ADDITIONAL_SUBNETS: "runners=10.90.1.0/27", TRIAL: "true" })).rejects.toThrow(
        "ADDITIONAL_SUBNETS has an effect only in the template's own network",
      );
      for (const list of ["", "costCenter=42", "cost center=42, owner=a=b"])
        expect(await ran(hook, {}, { SKIP_PREFLIGHT: "true", RESOURCE_TAGS: list })).toBe("");
    },
  );
});

describe("subnets of yours", () => {
  it("are refused before a provision if not all of them are named", async () => {
    await expect(ran("preup", {}, { SUBNET_ID_CORE: subnetIds().SUBNET_ID_CORE ?? "" })).rejects.toThrow(
      /Either all subnets are yours or none: SUBNET_ID_CLIENT, .*SUBNET_ID_CORE_ENDPOINT must be set too/,
    );
  });

  it("are refused without one for each app and a DNS zone for each kind of endpoint, unless a policy creates the records", async () => {
    const subnets = subnetIds();
    const zone = "/subscriptions/s/resourceGroups/rg-platform/providers/Microsoft.Network/privateDnsZones/zone";
    const zones = { DNS_ZONE_ID_BLOB: zone, DNS_ZONE_ID_TABLE: zone, DNS_ZONE_ID_VAULT: zone };
    await expect(ran("preup", {}, { ...subnets, ...zones })).rejects.toThrow(
      "With subnets of yours the DNS zones must be yours too: set DNS_ZONE_ID_SITES, or PRIVATE_DNS to none",
    );
    const { SUBNET_ID_CORE = "", SUBNET_ID_AUTH_ENDPOINTS = "" } = subnets;
    for (const shared of [
      { SUBNET_ID_CLIENT: SUBNET_ID_CORE.toLowerCase() },
      { SUBNET_ID_CONNECTOR_ENDPOINTS: SUBNET_ID_AUTH_ENDPOINTS },
    ])
      await expect(ran("preup", {}, { ...subnets, TRIAL: "true", ...shared })).rejects.toThrow(
        "must be different subnets",
      );
    for (const enough of [{ ...zones, DNS_ZONE_ID_SITES: zone }, { PRIVATE_DNS: "none" }, { TRIAL: "true" }])
      expect(await ran("preup", {}, { SKIP_PREFLIGHT: "true", ...subnets, ...enough })).toBe("");
  });
});

describe("an app's subnet of yours", () => {
  const subnet = (properties: object) => ({ "/subnets/CORE?": { properties } });
  const delegations = [{ properties: { serviceName: "Microsoft.App/environments" } }];

  it.each([
    [
      "a /28",
      { addressPrefix: "10.1.0.0/28", delegations },
      "SUBNET_ID_CORE has 10.1.0.0/28: an app needs a /27 or larger.",
    ],
    [
      "no delegation",
      { addressPrefix: "10.1.0.0/27" },
      "SUBNET_ID_CORE is not delegated to Microsoft.App/environments.",
    ],
  ])("is refused with %s", (_, properties, problem) => {
    expect(flown(subnet(properties), subnetIds()).problems).toEqual([problem]);
  });

  it("is accepted if it is large enough and delegated, and not checked if it cannot be read", () => {
    expect(flown(subnet({ addressPrefixes: ["10.1.0.0/27"], delegations }), subnetIds()).problems).toEqual([]);
    expect(flown({}, subnetIds()).problems).toEqual([]);
  });
});

describe("the settings of the apps", () => {
  it.each(["preup", "preprovision"])("stop %s with the names of those that are missing or wrong", async hook => {
    const wrong = {
      DELIVERY_API_BASE_URL: "",
      DELIVERY_JWKS_SIGN_ENDPOINT: "delivery.example.com",
      IDPA_MANAGED_IDENTITY: "",
    };
    const failure = await ran(hook, {}, wrong).catch((error: Error) => error.message);
    expect(failure).toContain("- DELIVERY_API_BASE_URL: must be set (azd env set DELIVERY_API_BASE_URL …).");
    expect(failure).toContain("- DELIVERY_JWKS_SIGN_ENDPOINT: must be an https address");
    expect(failure).toContain("- IDPA_FIDO_API_CLIENT_ID: must be set");
    expect(notes()).toEqual([]);
  });

  it.each(["preup", "preprovision"])(
    "stop %s where they cannot be checked, as without a package registry",
    async hook => {
      const failure = await ran(hook, {}, { NODE_OPTIONS: `--import=${failingCheck}` }).catch(
        (error: Error) => error.message,
      );
      expect(failure).toContain("The settings of the apps could not be checked:");
      expect(notes()).toEqual([]);
    },
  );

  it("are not checked with SKIP_PREFLIGHT", async () => {
    expect(await ran("preup", {}, { SKIP_PREFLIGHT: "true", DELIVERY_API_BASE_URL: "" })).toBe("");
  });
});

describe("the mail domain", () => {
  it("stops preup if it is missing, unless azd asked for it once", async () => {
    await expect(ran("preup", {}, { MAIL_DOMAIN: "" })).rejects.toThrow("- MAIL_DOMAIN: must be set");
    expect(await ran("preup", {}, { MAIL_DOMAIN: "", MAIL_DOMAIN_NAME: "keys.example.com" })).toBe("");
  });
});

describe("the file of several identity providers", () => {
  const several = { IDP_ENABLE_MULTI_IDP: "true", IDP_DEFAULT: "corporate" };

  it("gets the address that the storage account of the template will have", async () => {
    await ran("preprovision", {}, several);
    const token = nameToken(fine["group list"][0]?.id ?? "", environment);
    expect(valuesOf(notes()[0]?.text).IDP_CONFIGURATION_PATH).toBe(
      `https://stconn${token}.blob.core.windows.net/configuration/idps.yaml`,
    );
    expect(deployed().outputs.CONNECTOR_STORAGE_NAME).toBe(`stconn${nameToken(sampleGroup, sample)}`);
  });

  it("keeps an address that is given, and is not needed with one identity provider", async () => {
    await ran(
      "preprovision",
      {},
      { ...several, IDP_CONFIGURATION_PATH: "https://stconna.blob.core.windows.net/configuration/own.yaml" },
    );
    await ran("preprovision");
    for (const { text } of notes()) expect(valuesOf(text).IDP_CONFIGURATION_PATH).toBeUndefined();
  });

  it("stops the provision where its address cannot be computed", async () => {
    await expect(ran("preprovision", { "group list": null }, several)).rejects.toThrow("run `az login`");
  });
});

describe("the hook before azd down", () => {
  const own = { id: "/own", tags: { "azd-env-name": "sample" } };

  it("stops before users, orders and backups are deleted, and names what does not belong to the environment", async () => {
    const answers = { "resource list": [own, { id: "/theirs", tags: null }] };
    const failure = await ran("predown", answers).catch((error: Error) => error.message);
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
    const unknown = ran("predown", {}, { AZURE_RESOURCE_GROUP: "", DELETE_EVERYTHING: "rg-sample" });
    await expect(unknown).rejects.toThrow("AZURE_RESOURCE_GROUP is not set");
  });

  it("lets it go on when the group is named", async () => {
    expect(await ran("predown", { "resource list": [own] }, { DELETE_EVERYTHING: "rg-sample" })).toBe("");
    await expect(ran("predown", { "resource list": [own] }, { DELETE_EVERYTHING: "true" })).rejects.toThrow();
  });

  it("lets only one run continue, because the environment may be deployed again", async () => {
    await expect(ran("predown", { "resource list": [own] }, { DELETE_EVERYTHING: "true" })).rejects.toThrow();
    expect(notes()).toEqual([]);
    await ran("predown", { "resource list": [own] }, { DELETE_EVERYTHING: "rg-sample" });
    expect(notes().map(({ text }) => valuesOf(text))).toEqual([{ DELETE_EVERYTHING: "" }]);
  });
});

describe("the hook after a provision", () => {
  it("deletes the keys from the environment, and names the command that does what is left", async () => {
    for (const left of [{ MAIL_DOMAIN_VERIFIED: "false", CALLER_AUDIENCES: "a" }, { MAIL_DOMAIN_VERIFIED: "true" }])
      expect(await ran("postprovision", {}, left)).toContain("npm run deploy:finish -- --list");
    expect(valuesOf(notes()[0]?.text)).toEqual({
      NEW_AUTH_DATA_KEY: "",
      NEW_AUTH_PEPPER: "",
      NEW_CONNECTOR_DATA_KEY: "",
    });
  });

  it("prints what a trial gives up", async () => {
    const done = { MAIL_DOMAIN_VERIFIED: "true", CALLER_AUDIENCES: "a", TRIAL: "true" };
    expect(await ran("postprovision", {}, done)).toMatch(/never for real data.*Core answers to no address/);
    const open = { ...done, CORE_DEPLOY_RANGE: "203.0.113.7/32" };
    expect(await ran("postprovision", {}, open)).toContain("Core answers to 203.0.113.7/32;");
  });

  it("prints that Core is open to the range of the first deployment, as long as it is", async () => {
    const done = { MAIL_DOMAIN_VERIFIED: "true", CALLER_AUDIENCES: "a", CORE_SETUP_RANGE: "203.0.113.7/32" };
    expect(await ran("postprovision", {}, done)).toMatch(
      /Core can be reached from 203\.0\.113\.7\/32, until .*--close/,
    );
  });

  it("prints nothing where nothing is left to do", async () => {
    expect(await ran("postprovision", {}, { MAIL_DOMAIN_VERIFIED: "true", CALLER_AUDIENCES: "a" })).toBe("");
  });
});
