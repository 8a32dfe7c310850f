import { describe, expect, it } from "vitest";
import { faultsOf, type ResourceType, readType, typesFolder } from "./resource-types.ts";
import { deployed, sample } from "./templates.ts";

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
  ])("has %s found", (_, body, told) => {
    expect(faultsOf(body, sampleType)).toContain(told);
  });
});

/** Parameters that bring out every branch of the templates. */
const given = [
  sample,
  {
    ...sample,
    coreDeployRange: "203.0.113.7/32",
    clientAlwaysReadyInstances: 2,
    alertMailTo: "first@example.com, second@example.com",
    additionalSubnets: [{ name: "runners", addressPrefix: "10.90.1.0/26" }],
    everyAppSettings: { CALLER_STATIC_TOKENS: "true" },
    nameSuffix: "second",
    tags: { owner: "somebody" },
  },
];

const folder = typesFolder(process.env);
const types = folder ?? "";
const absent =
  "No data of Azure's resource types is at hand: AZURE_TYPES names its folder, or a folder azure-types lies beside the project.";

describe("the resources against Azure's own types", () => {
  it("are held against them where the data is at hand", context => {
    if (folder === undefined) {
      console.log(absent);
      context.skip(absent);
    }
    const faults = given.flatMap(parameters =>
      [true, false].flatMap(verified =>
        deployed(parameters, { verified }).resources.flatMap(({ type, version, body, existing, file, line }) => {
          const known = readType(types, type);
          if (known === undefined) return [`${file}:${line}: ${type} is no type of the data`];
          const stated =
            `${type}@${version}` === known.resource
              ? []
              : [`${file}:${line}: ${version} is not the version of the data`];
          const inside = existing ? [] : faultsOf({ ...body, name: String(body.name) }, known);
          return [...stated, ...inside.map(fault => `${file}:${line}: ${fault}`)];
        }),
      ),
    );
    expect([...new Set(faults)]).toEqual([]);
  });

  it.each([
    [
      "Microsoft.Web/sites",
      { functionAppConfig: { deployment: { storage: { type: "blob" } } } },
      "properties.functionAppConfig.deployment.storage.type",
    ],
    ["Microsoft.Web/sites", { siteUpdateStrategy: {} }, "properties.siteUpdateStrategy is unknown"],
    ["Microsoft.Storage/storageAccounts", { minimumTlsVersion: "TLS12" }, "properties.minimumTlsVersion"],
    [
      "Microsoft.Communication/emailServices/domains",
      { userEngagementTracking: "Disabled" },
      "properties has no domainManagement",
    ],
  ])("find what is planted in %s: %j", (type, properties, told) => {
    const known = folder === undefined ? undefined : readType(types, type);
    if (known === undefined) return;
    expect(
      faultsOf({ name: "sample", location: "x", sku: { name: "x" }, kind: "x", properties }, known).join("\n"),
    ).toContain(told);
  });
});
