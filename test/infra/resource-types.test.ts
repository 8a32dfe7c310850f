import { beforeAll, describe, expect, it } from "vitest";
import { existingNetworkId, existingResources } from "./azd/existing-resources.ts";
import { type Deployment, deploy } from "./bicep/deploy.ts";
import { faultsOf, type ResourceType, readType, typesFolder } from "./resource-types.ts";
import { deployed, planted, sample, templates } from "./templates.ts";

const sampleType: ResourceType = {
  resource: "X.Y/z@2026-01-01",
  body: { $ref: "#/$defs/1" },
  $defs: {
    1: {
      type: "object",
      properties: {
        name: { type: "string", pattern: "^[a-z]+$", minLength: 2, maxLength: 5 },
        kind: { type: "string", known: ["first", "second"] },
        closed: { enum: ["A", "B"] },
        count: { type: "integer", minimum: 1, maximum: 3 },
        on: { type: "boolean" },
        list: { type: "array", items: { $ref: "#/$defs/2" } },
        tags: { type: "object", additionalProperties: { type: "string" } },
        rule: { $ref: "#/$defs/3" },
      },
      required: ["name"],
      additionalProperties: false,
    },
    2: { type: "object", properties: { id: { type: "string" } }, required: ["id"], additionalProperties: false },
    3: { discriminator: "odata.type", base: { title: { type: "string" } }, variants: { One: { $ref: "#/$defs/4" } } },
    4: {
      type: "object",
      properties: { "odata.type": { const: "One" } },
      required: ["odata.type"],
      additionalProperties: false,
    },
  },
};

describe("a body against its type", () => {
  it("has no fault where there is none", () => {
    const body = {
      name: "abc",
      kind: "first",
      closed: "A",
      count: 3,
      on: false,
      list: [{ id: "a" }],
      tags: { any: "text" },
      rule: { "odata.type": "One", title: "t" },
    };
    expect(faultsOf(body, sampleType)).toEqual([]);
  });

  it.each([
    ["a missing property", {}, "the body has no name"],
    ["an unknown property", { name: "abc", nme: 1 }, "nme is unknown"],
    ["an undocumented value", { name: "abc", kind: "third" }, 'kind is "third", none of first, second'],
    ["a value outside of a closed list", { name: "abc", closed: "a" }, 'closed is "a", none of A, B'],
    ["a text that is too long", { name: "abcdef" }, "name has 6 characters"],
    ["a text of another form", { name: "ab1" }, 'name is "ab1", not as ^[a-z]+$'],
    ["a text in place of a number", { name: "abc", count: "2" }, "count is no whole number"],
    ["a number that is too large", { name: "abc", count: 4 }, "count is 4"],
    ["a text in place of a truth", { name: "abc", on: "true" }, "on is neither true nor false"],
    ["a fault in a list", { name: "abc", list: [{ id: "a" }, {}] }, "list[1] has no id"],
    ["a wrong value of a map", { name: "abc", tags: { any: 1 } }, "tags.any is no text"],
    ["an unknown variant", { name: "abc", rule: { "odata.type": "Two" } }, 'rule.odata.type is "Two", none of One'],
    ["an unknown property of a variant", { name: "abc", rule: { "odata.type": "One", b: 1 } }, "rule.b is unknown"],
  ])("has %s found", (_, body, expected) => {
    expect(faultsOf(body, sampleType)).toContain(expected);
  });
});

/** Every value that a parameter of main.bicep may have, by the parameter's name. */
function allowedValues(): readonly (readonly [name: string, value: unknown])[] {
  const params = templates.get("main.bicep")?.declarations.filter(({ kind }) => kind === "param") ?? [];
  return params.flatMap(({ name, decorators }) => {
    const [list] = decorators.find(each => each.name === "allowed")?.args ?? [];
    if (list?.kind !== "array") return [];
    return list.items.map(item => [
      name,
      item.kind === "text" ? item.parts.join("") : item.kind === "literal" && item.value,
    ]);
  });
}

const subscription = "/subscriptions/33333333-3333-4333-8333-333333333333/resourceGroups/rg-platform/providers";

/** Parameters that bring out every branch of the templates. */
const given = [
  sample,
  {
    ...sample,
    coreDeployRange: "203.0.113.7/32",
    clientAlwaysReadyInstances: 2,
    alertMailTo: "first@example.com, second@example.com",
    additionalSubnets: "runners=10.90.1.0/26",
    everyAppSettings: { CALLER_STATIC_TOKENS: "true" },
    nameSuffix: "second",
    resourceTags: "owner=somebody",
    resourceLocks: true,
    zoneRedundant: true,
    dailyCapGb: 5,
    availabilityTests: true,
    natGatewayId: `${subscription}/Microsoft.Network/natGateways/nat`,
    routeTableId: `${subscription}/Microsoft.Network/routeTables/rt`,
  },
  { ...sample, trial: true, coreDeployRange: "203.0.113.7/32" },
  { ...sample, ...existingResources, privateDns: "none" },
  { ...sample, existingNetworkId },
  ...allowedValues().map(([name, value]) => ({ ...sample, [name]: value })),
];

/** Types that the data lacks. */
const withoutData = ["Microsoft.Insights/webtests"];

const folder = typesFolder(process.env);
const absent =
  "No data of Azure's resource types is at hand: AZURE_TYPES names its folder, or a folder azure-types lies beside the project.";

/** What is wrong with the resources of a deployment by the types of a folder. */
const typeFaults = (types: string, { resources }: Deployment): readonly string[] =>
  resources.flatMap(({ type, version, body, existing, file, line }) => {
    const at = `${file}:${line}`;
    if (withoutData.includes(type)) return [];
    const known = readType(types, type);
    if (known === undefined) return [`${at}: ${type} is no type of the data`];
    const stated = `${type}@${version}` === known.resource ? [] : [`${at}: ${version} is not the version of the data`];
    return [...stated, ...(existing ? [] : faultsOf(body, known)).map(fault => `${at}: ${fault}`)];
  });

describe("the resources against Azure's own types", () => {
  beforeAll(() => {
    if (folder === undefined) console.log(absent);
  });

  it.for(given)("are compared with them, with and without a verified mail domain", (parameters, context) => {
    if (folder === undefined) return context.skip(absent);
    for (const verified of [true, false]) {
      expect(typeFaults(folder, deployed(parameters, { verified }))).toEqual([]);
    }
  });

  it("are compared with them if a person puts a secret into a vault", context => {
    if (folder === undefined) return context.skip(absent);
    const secret = {
      vaultName: "kv-conn-sample",
      name: "delivery-api-token",
      value: "sample",
      expiresOn: 1_900_000_000,
    };
    const azure = { files: templates, text: () => "", propertiesOnceDeployed: () => ({}) };
    expect(typeFaults(folder, deploy("secret.bicep", secret, azure))).toEqual([]);
  });

  it("are compared with them if a person gives roles on a second storage account", context => {
    if (folder === undefined) return context.skip(absent);
    const roles = { accountName: "stcopies", corePrincipalId: "core", connectorPrincipalId: "connector" };
    const azure = { files: templates, text: () => "", propertiesOnceDeployed: () => ({}) };
    expect(typeFaults(folder, deploy("backup-role.bicep", roles, azure))).toEqual([]);
  });

  it.for([
    ["an undocumented value", "modules/app.bicep", "type: 'blobContainer'", "type: 'blob'", 'storage.type is "blob"'],
    [
      "a property that is gone",
      "modules/app.bicep",
      "      runtime: {",
      "      siteUpdateStrategy: {}\n      runtime: {",
      "siteUpdateStrategy is unknown",
    ],
    ["a value of another form", "modules/store.bicep", "'TLS1_2'", "'TLS12'", 'minimumTlsVersion is "TLS12"'],
    [
      "a missing property",
      "modules/mail-domain.bicep",
      "    domainManagement: 'CustomerManaged'\n",
      "",
      "has no domainManagement",
    ],
    [
      "a text in place of a number",
      "modules/vault.bicep",
      "softDeleteRetentionInDays: 90",
      "softDeleteRetentionInDays: '90'",
      "softDeleteRetentionInDays is no whole number",
    ],
    [
      "a version that is none",
      "modules/vault.bicep",
      "vaults@2026-02-01' = ",
      "vaults@2026-02-02' = ",
      "2026-02-02 is not the version",
    ],
    [
      "a type that is none",
      "modules/monitoring.bicep",
      "'Microsoft.Insights/workbooks@",
      "'Microsoft.Insights/workbook@",
      "is no type of the data",
    ],
    [
      "a subnet's unknown property",
      "modules/network.bicep",
      "delegations: [",
      "delegation: [",
      "delegation is unknown",
    ],
  ] as const)("have %s found", ([, path, from, to, expected], context) => {
    if (folder === undefined) return context.skip(absent);
    const files = planted(path, from, to);
    expect(typeFaults(folder, deployed(sample, { files })).join("\n")).toContain(expected);
  });
});
