import { beforeAll, describe, expect, it } from "vitest";
import { byHand } from "./cases.ts";
import { snapshotNames } from "./compiled.ts";
import { faultsOf, type ResourceType, readType, typesFolder } from "./resource-types.ts";
import { changed, type Deployment, deployed, deployedByHand } from "./templates.ts";

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

/** Types that the data lacks. */
const withoutData = ["Microsoft.Insights/webtests"];

const folder = typesFolder(process.env);
const absent =
  "No data of Azure's resource types is at hand: AZURE_TYPES names its folder, or a folder azure-types lies beside the project.";

/** What is wrong with the resources of a deployment by the types of a folder. */
const typeFaults = (types: string, { resources }: Deployment): readonly string[] =>
  resources.flatMap(({ type, name, last, body: { apiVersion, condition: _, type: __, ...body } }) => {
    if (withoutData.includes(type)) return [];
    const known = readType(types, type);
    if (known === undefined) return [`${name}: ${type} is no type of the data`];
    const stated =
      `${type}@${apiVersion}` === known.resource ? [] : [`${name}: ${apiVersion} is not the version of the data`];
    return [...stated, ...faultsOf({ ...body, name: last }, known).map(fault => `${name}: ${fault}`)];
  });

// The compiler knows the same types, but not what a function such as union() returns, and it takes any text for an open list of values.
describe("the resources against Azure's own types", () => {
  beforeAll(() => {
    if (folder === undefined) console.log(absent);
  });

  it.for(snapshotNames)("are compared with them: %s", (name, context) => {
    if (folder === undefined) return context.skip(absent);
    const deployment = isByHand(name) ? deployedByHand(name) : deployed(name);
    expect(typeFaults(folder, deployment)).toEqual([]);
  });

  const isByHand = (name: (typeof snapshotNames)[number]): name is keyof typeof byHand => name in byHand;

  const site = "Microsoft.Web/sites";
  const vault = "Microsoft.KeyVault/vaults";
  const app = "properties.functionAppConfig";
  it.for([
    ["an undocumented value", site, `${app}.deployment.storage.type`, "blob", 'storage.type is "blob"'],
    ["a property that is gone", site, `${app}.siteUpdateStrategy`, {}, "siteUpdateStrategy is unknown"],
    ["a number as text", vault, "properties.softDeleteRetentionInDays", "90", "InDays is no whole number"],
    ["a version that is none", vault, "apiVersion", "2026-02-02", "2026-02-02 is not the version"],
  ] as const)("have %s found", ([, type, path, value, expected], context) => {
    if (folder === undefined) return context.skip(absent);
    expect(typeFaults(folder, changed(deployed(), type, path, value)).join("\n")).toContain(expected);
  });
});
