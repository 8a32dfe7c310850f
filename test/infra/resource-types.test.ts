import { beforeAll, describe, expect, it } from "vitest";
import { byHand } from "./cases.ts";
import { snapshotNames } from "./compiled.ts";
import { faultsOf, readType, typesFolder } from "./resource-types.ts";
import { changed, type Deployment, deployed, deployedByHand } from "./templates.ts";

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
  const blobs = "Microsoft.Storage/storageAccounts/blobServices";
  const alert = "Microsoft.Insights/metricAlerts";
  const rule = "Microsoft.Insights/scheduledQueryRules";
  const criterion = "properties.criteria.allOf.0";
  const app = "properties.functionAppConfig";
  it.for([
    ["an undocumented value", site, `${app}.deployment.storage.type`, "blob", "storage.type: invalid_value"],
    ["a property that is gone", site, `${app}.siteUpdateStrategy`, {}, "functionAppConfig.siteUpdateStrategy: unrec"],
    [
      "a number as text",
      vault,
      "properties.softDeleteRetentionInDays",
      "90",
      "softDeleteRetentionInDays: invalid_type",
    ],
    ["a version that is none", vault, "apiVersion", "2026-02-02", "2026-02-02 is not the version"],
    ["a missing property", vault, "properties.sku.name", undefined, "properties.sku.name: invalid"],
    ["a text of another form", vault, "properties.tenantId", "tenant", "tenantId: invalid_format"],
    ["a text in place of a truth", site, "properties.httpsOnly", "true", "httpsOnly: invalid_type"],
    ["a number that is too large", blobs, "properties.deleteRetentionPolicy.days", 366, "days: too_big"],
    ["a wrong value of a map", site, "tags.any", 1, "tags.any: invalid_type"],
    ["a fault in a list", rule, `${criterion}.operator`, "Greater", "allOf.0.operator: invalid_value"],
    ["an unknown property in a list", rule, `${criterion}.nme`, 1, "allOf.0.nme: unrecognized_keys"],
    ["an unknown property of a variant", alert, "properties.criteria.nme", 1, "criteria.nme: unrecognized_keys"],
    ["an unknown variant", alert, "properties.criteria", { "odata.type": "Two" }, "criteria.odata.type: invalid_union"],
  ] as const)("have %s found", ([, type, path, value, expected], context) => {
    if (folder === undefined) return context.skip(absent);
    expect(typeFaults(folder, changed(deployed(), type, path, value)).join("\n")).toContain(expected);
  });
});
