import { describe, expect, it } from "vitest";
import { dependenciesOf } from "./bicep/dependencies.ts";
import { deploy } from "./bicep/deploy.ts";
import { parseBicep } from "./bicep/parse.ts";
import { rules } from "./lint/rules.ts";
import { secretFaults } from "./secret-flow.ts";
import { deployed, planted, required, sample, templates } from "./templates.ts";

it.each([
  ["a missing colon", "var a = { b 1 }"],
  ["a missing bracket", "var a = [ 1"],
  ["a missing value", "param a string =\nvar b = 1"],
  ["a word that begins nothing", "resorce a 'x' = {}"],
])("the parser finds %s", (_, source) => {
  expect(() => parseBicep("planted.bicep", `${source}\n`)).toThrow(/planted\.bicep:\d+:/);
});

/** By rule: what breaks it, and what the rule says. Everything else in the source is right. */
const broken: Readonly<Record<string, readonly [source: string, expected: string]>> = {
  "no-unused-params": ["param a string", "1: the parameter a is never used"],
  "no-unused-vars": ["var a = 1", "1: a is never used"],
  "no-unused-existing-resources": [
    "resource a 'X.Y/z@1' existing = {\n  name: 'a'\n}",
    "1: the existing resource a is never used",
  ],
  described: ["@secure()\nparam a string\noutput b string = a", "2: a has no description"],
  "no-conflicting-metadata": [
    "@description('a')\n@metadata({ description: 'b' })\nvar a = 1",
    "3: a is described twice",
  ],
  "use-parent-property": ["resource a 'X.Y/z/w@1' = {\n  name: 'b/c'\n}", "1: a names its parent in its name"],
  "loop-names": ["resource a 'X.Y/z@1' = [for b in c: {\n  name: 'd'\n}]", "1: a does not name the item of its loop"],
  "no-unnecessary-dependson": [
    "resource a 'X.Y/z@1' = {\n  name: 'a'\n  tags: b.tags\n  dependsOn: [\n    b\n  ]\n}",
    "5: a depends on it anyway",
  ],
  "max-declarations": [
    `${Array.from({ length: 65 }, (_, n) => `output a${n} int = 1`).join("\n")}`,
    "1: 65 of output, at most 64",
  ],
  "no-deployments-resources": [
    "resource a 'Microsoft.Resources/deployments@1' = {\n  name: 'a'\n}",
    "1: a is a deployment; use a module",
  ],
  "conditional-access": ["module a 'b.bicep' = if (c) {}\nvar d = a.outputs.e", "2: a may not be there"],
  "lambda-index": [
    "resource a 'X.Y/z@1' = [for b in c: {\n  name: b\n}]\nvar d = map(e, f => a[f].id)",
    "4: a lambda chooses among a",
  ],
  "prefer-interpolation": ["var a = concat('b', c)", "1: concat() joins texts; write one text with holes"],
  "simplify-interpolation": [`var a = '\${b}'`, "1: a text is nothing but one hole"],
  "prefer-unquoted-property-names": ["var a = {\n  'b': 1\n  'c-d': 2\n}", "2: b needs no quotes"],
  "no-hardcoded-env-urls": [
    `var a = 'https://\${b}.blob.core.windows.net'`,
    "1: core.windows.net is another in other clouds",
  ],
  "no-hardcoded-location": [
    "resource a 'X.Y/z@1' = {\n  name: 'a'\n  location: 'westeurope'\n}",
    "3: westeurope is written out",
  ],
  "no-loc-expr-outside-params": [
    "param a string = resourceGroup().location\nvar b = resourceGroup().location",
    "2: the location comes by a parameter",
  ],
  "secure-parameter-default": ["@secure()\nparam a string = 'b'", "2: the secure parameter a has a default"],
  "secure-secrets-in-params": ["param theSecret string", "1: theSecret sounds secret and is not"],
  "outputs-should-not-contain-secrets": [
    "@secure()\nparam a string\noutput b string = a",
    "3: the output b gives a secret away",
  ],
  "simplify-json-null": ["var a = json('null')", "1: write null"],
  "use-safe-access": ["var a = contains(b, 'c') ? b.c : 1", "1: write .? and ??"],
  "use-resource-symbol-reference": ["var a = listKeys(b, '1').keys", "1: listKeys(): use the resource's symbol"],
  "nothing-new-each-run": ["@secure()\nparam a string = newGuid()", "2: newGuid(): another value in each run"],
  "scope-choice": ["resource a 'X.Y/z@1' = {\n  name: 'a'\n  scope: b ? c : d\n}", "3: a chooses its scope"],
  "known-at-the-start": [
    "var a = b.outputs.c\nmodule b 'b.bicep' = {}\nresource d 'X.Y/z@1' = {\n  name: a\n}",
    "4: name of d waits for b.outputs",
  ],
};

describe("the compiler's rules, and ours", () => {
  it("are each planted", () => {
    expect(Object.keys(broken).sort()).toEqual(Object.keys(rules).sort());
  });

  it.each(Object.entries(rules))("%s is kept by every template", (name, rule) => {
    for (const [path, file] of templates) expect(rule(file), `${name} in ${path}`).toEqual([]);
  });

  it.each(Object.entries(broken))("%s is found where it is planted", (name, [source, expected]) => {
    expect(rules[name]?.(parseBicep("planted.bicep", `${source}\n`))).toContain(expected);
  });

  it.each([
    [
      "a module's output in a condition",
      "module b 'b.bicep' = {}\nresource a 'X.Y/z@1' = if (b.outputs.c) {\n  name: 'a'\n}",
      "2: the condition of a waits for b.outputs",
    ],
    [
      "a resource's property in a loop",
      "resource b 'X.Y/z@1' = {\n  name: 'b'\n}\nmodule a 'a.bicep' = [for c in b.properties.d: {\n  name: c\n}]",
      "4: the loop of a waits for b.properties",
    ],
    [
      "utcNow in a secret",
      "resource a 'X.Y/z@1' = {\n  name: 'a'\n  value: utcNow()\n}",
      "3: utcNow(): another value in each run",
    ],
  ])("find %s too", (_, source, expected) => {
    const found = Object.values(rules).flatMap(rule => rule(parseBicep("planted.bicep", `${source}\n`)));
    expect(found).toContain(expected);
  });
});

describe("main.bicep", () => {
  it("works out with what must be given alone, and as its parameter file gives it", () => {
    expect(deployed(required).resources.length).toBeGreaterThan(80);
    expect(deployed(sample).resources.length).toBe(deployed(required).resources.length);
  });

  it("makes no resource twice", () => {
    const ids = deployed()
      .resources.filter(({ existing }) => !existing)
      .map(({ id }) => id.toLowerCase());
    expect(ids.filter((id, position) => ids.indexOf(id) !== position)).toEqual([]);
  });

  it("uses every template but those that a person runs", () => {
    const used = new Set(deployed({ ...sample, availabilityTests: true }).resources.map(({ file }) => file));
    expect([...templates.keys()].filter(path => !used.has(path)).sort()).toEqual(
      ["backup-role.bicep", "main.bicep", "secret.bicep"].filter(path => !used.has(path)),
    );
  });

  it.each([
    [
      "a parameter that a module does not have",
      "main.bicep",
      "senderName: mailSenderName",
      "sender: mailSenderName",
      /mail\.bicep has no parameter sender/,
    ],
    [
      "a parameter that is not given",
      "main.bicep",
      "    domainName: mailDomain\n    dataLocation",
      "    dataLocation",
      /parameter domainName is not given/,
    ],
    [
      "a parameter of another type",
      "main.bicep",
      "retentionDays: retentionDays",
      "retentionDays: '90'",
      /parameter retentionDays: "90" is no int/,
    ],
    [
      "an API that is none",
      "main.bicep",
      "api: 'client'",
      "api: 'clients'",
      /parameter api: "clients" is no "core" \| "client" \| "connector"/,
    ],
    [
      "an output that a module does not have",
      "main.bicep",
      "client.outputs.url",
      "client.outputs.address",
      /there is no address/,
    ],
    [
      "a module that is not there",
      "main.bicep",
      "'modules/alerts.bicep'",
      "'modules/alert.bicep'",
      /modules\/alert\.bicep is not there/,
    ],
    [
      "a name that is declared nowhere",
      "main.bicep",
      "targetId: core.outputs.id",
      "targetId: cores.outputs.id",
      /cores is declared nowhere/,
    ],
    [
      "a role that is none",
      "main.bicep",
      "role: 'Key Vault Secrets User'",
      "role: 'Key Vault Secret User'",
      /there is no Key Vault Secret User/,
    ],
    [
      "a function that is none",
      "main.bicep",
      "uniqueString(",
      "uniqueText(",
      /uniqueText is no function that is known/,
    ],
    ["a name that is too long", "main.bicep", "'kv-auth-", "'kv-authentication-", /parameter name: maxLength is 24/],
    [
      "an output of another type",
      "main.bicep",
      "output MAIL_DOMAIN_VERIFIED bool",
      "output MAIL_DOMAIN_VERIFIED int",
      /output MAIL_DOMAIN_VERIFIED/,
    ],
    [
      "a circle",
      "main.bicep",
      "var token = uniqueString(",
      "var token = uniqueString(names.network, ",
      /a circle: token -> names -> token|a circle: names -> token -> names/,
    ],
    [
      "a child of another parent",
      "modules/vault.bicep",
      "parent: vault\n  name: 'data-encryption-key'",
      "parent: audit\n  name: 'data-encryption-key'",
      /dataKey is no child of/,
    ],
  ])("does not work out with %s", (_, path, from, to, expected) => {
    expect(() => deployed({ ...sample, availabilityTests: true }, { files: planted(path, from, to) })).toThrow(
      expected,
    );
  });

  it.each([
    ["mailDomain", { ...sample, mailDomain: "" }],
    ["nodeVersion", { ...sample, nodeVersion: "20" }],
    ["storageSku", { ...sample, storageSku: "Standard_XRS" }],
    ["privateDns", { ...sample, privateDns: "given" }],
    ["dailyCapGb", { ...sample, dailyCapGb: -1 }],
    ["maximumInstanceCount", { ...sample, maximumInstanceCount: 10 }],
    ["keysExpireOn", { ...sample, keysExpireOn: "1900000000" }],
    ["mailDomains", { ...sample, mailDomains: "x" }],
  ])("refuses a wrong %s", (name, given) => {
    expect(() => deployed(given)).toThrow(name);
  });
});

describe("a secret on its way to a vault", () => {
  it("is a secure parameter in every template that it passes", () => {
    expect(secretFaults(templates)).toEqual([]);
  });

  it.each([
    ["main.bicep", "@secure()\nparam authDataKey", "param authDataKey", "main.bicep: authDataKey is not secure"],
    ["main.bicep", "@secure()\nparam authPepper", "param authPepper", "main.bicep: authPepper is not secure"],
    [
      "modules/vault.bicep",
      "@secure()\nparam dataEncryptionKey",
      "param dataEncryptionKey",
      "modules/vault.bicep: dataEncryptionKey is not secure",
    ],
    ["secret.bicep", "@secure()\n", "", "secret.bicep: value is not secure"],
  ])("is found where %s does not say so (%#)", (path, from, to, expected) => {
    expect(secretFaults(planted(path, from, to))).toContain(expected);
  });

  it("is no default outside of the allowed values", () => {
    const files = planted(
      "main.bicep",
      "param storageSku string = 'Standard_ZRS'",
      "param storageSku string = 'Standard_XRS'",
    );
    expect(() => deployed(sample, { files })).toThrow('"Standard_XRS" is not allowed');
  });
});

describe("the order of a deployment", () => {
  const waitsFor = (name: string, files = templates, path = "main.bicep") => {
    const file = files.get(path);
    return [...((file && dependenciesOf(file).get(name)) ?? [])];
  };

  it.each(["core", "client", "connector"])("creates the roles of %s before the app, which needs them to start", app => {
    expect(waitsFor(app)).toEqual(expect.arrayContaining(["roles"]));
    const files = planted("main.bicep", "  dependsOn: [\n    roles\n", "  dependsOn: [\n");
    expect(waitsFor("core", files)).not.toContain("roles");
  });

  const inNetwork = ["authStore", "connectorStore", "authVault", "connectorVault", "corePrivateEndpoint"];
  it.each([...inNetwork, "core", "client", "connector"])(
    "creates the network and its DNS before %s and its endpoints",
    name => {
      expect(waitsFor(name)).toEqual(expect.arrayContaining(["network", "dns"]));
    },
  );

  it("creates the endpoints of a store last and one after the other, because each locks the account for a while", () => {
    const path = "modules/store.bicep";
    expect(waitsFor("endpoints", templates, path)).toEqual(
      expect.arrayContaining(["serviceContainers", "serviceTables"]),
    );
    const found = templates.get(path)?.declarations.find(({ name }) => name === "endpoints");
    expect(found?.decorators).toMatchObject([{ name: "batchSize", args: [{ value: 1 }] }]);
  });

  it("creates the endpoints of one subnet one after the other, because Azure may refuse two at once", () => {
    for (const service of ["auth", "connector"]) expect(waitsFor(`${service}Vault`)).toContain(`${service}Store`);
  });

  it("creates the secrets of a vault and its endpoint one after the other, because each changes the vault", () => {
    const order = ["dataKey", "pepper", "tokenHashes", "endpoint"];
    for (const [position, name] of order.entries())
      expect(waitsFor(name, templates, "modules/vault.bicep")).toEqual(
        expect.arrayContaining(order.slice(0, position)),
      );
  });

  it("lets only the connector wait for mail, so that Core and Client do not fail with it", () => {
    expect(waitsFor("connector")).toEqual(expect.arrayContaining(["mail", "mailOrigin", "mailRole"]));
    for (const app of ["core", "client", "alerts", "corePrivateEndpoint"])
      expect(waitsFor(app).filter(name => name.startsWith("mail"))).toEqual([]);
  });

  it("creates stores, vaults and monitoring before the roles on them", () => {
    const targets = ["authStore", "connectorStore", "authVault", "connectorVault", "monitoring"];
    expect(waitsFor("roles")).toEqual(expect.arrayContaining(targets));
    expect(waitsFor("mailRole")).toContain("mail");
  });
});

it("secret.bicep puts one secret into a vault, with an end", () => {
  const given = { vaultName: "kv-conn-sample", name: "delivery-api-token", value: "sample", expiresOn: 1_900_000_000 };
  const { resources } = deploy("secret.bicep", given, {
    files: templates,
    text: () => "",
    propertiesOnceDeployed: () => ({}),
  });
  const [secret] = resources.filter(({ existing }) => !existing);
  expect(secret?.name).toBe("kv-conn-sample/delivery-api-token");
  expect(secret?.body.properties).toEqual({ value: "sample", attributes: { exp: 1_900_000_000 } });
});

it("backup-role.bicep gives each app a role for the backups of its own service, and for no others in the container", () => {
  const given = { accountName: "stcopies", corePrincipalId: "core", connectorPrincipalId: "connector" };
  const azure = { files: templates, text: () => "", propertiesOnceDeployed: () => ({}) };
  const roles = deploy("backup-role.bicep", given, azure).resources.filter(({ existing }) => !existing);
  const blobs = "Microsoft.Storage/storageAccounts/blobServices/containers/blobs";
  const action = (name: string) => `ActionMatches{'${blobs}/${name}'}`;
  const others = ["write", "add/action", "delete"].map(name => ` AND !(${action(name)})`).join("");
  const condition = (path: string) =>
    `((!(${action("read")} AND NOT SubOperationMatches{'Blob.List'})${others}) OR (@Resource[${blobs}:path] StringStartsWith '${path}'))` +
    ` AND (!(${action("read")} AND SubOperationMatches{'Blob.List'}) OR (@Request[${blobs}:prefix] StringStartsWith '${path}'))`;
  expect(roles.map(({ body }) => body.properties)).toEqual(
    [
      ["core", "auth/"],
      ["connector", "connector/"],
    ].map(([principalId, path = ""]) => ({
      roleDefinitionId: expect.stringMatching(/\/ba92f5b4-2d11-453d-a403-e96b0029c9fe$/),
      principalId,
      principalType: "ServicePrincipal",
      condition: condition(path),
      conditionVersion: "2.0",
    })),
  );
  for (const { id } of roles) expect(id).toContain("/stcopies/blobServices/default/containers/backups/providers/");
});
