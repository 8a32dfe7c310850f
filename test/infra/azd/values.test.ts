import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { cases, type Environment } from "../cases.ts";
import { existingNetworkId, existingVariables } from "./existing-resources.ts";
import { parametersFile } from "./parameters.ts";

const { brokenValues } = (await import("../../../infra/hooks/values.mjs" as string)) as {
  brokenValues(environment: Readonly<Record<string, string>>): readonly string[];
};

interface Limits {
  readonly type?: string;
  readonly allowedValues?: readonly (string | number)[];
  readonly minValue?: number;
  readonly maxValue?: number;
  readonly maxLength?: number;
}
const declared: Readonly<Record<string, Limits>> = JSON.parse(
  readFileSync("test/infra/snapshots/outline.json", "utf8"),
)["main.bicep"].parameters;

/** Every limit that the compiled template declares, by the variable, with values at its ends and beyond them. */
const limits = Object.entries(declared).flatMap(([name, { type, allowedValues, minValue, maxValue, maxLength }]) => {
  const [, variable] = /^\$\{(\w+)/.exec(String(parametersFile[name]?.value)) ?? [];
  if (variable === undefined) return [];
  const found = (good: readonly unknown[], bad: readonly unknown[]) => [
    { variable, good: good.map(String), bad: bad.map(String) },
  ];
  if (type === "bool") return found(["true", "false", ""], ["True", "yes", "1", " true"]);
  if (allowedValues !== undefined) return found([...allowedValues, ""], ["other", `${allowedValues[0]} `]);
  if (minValue !== undefined)
    return maxValue === undefined
      ? found([minValue, 9999, ""], [minValue - 1, "x"])
      : found([minValue, maxValue, ""], [minValue - 1, maxValue + 1, "x", `${minValue}.5`]);
  return maxLength === undefined ? [] : found(["a".repeat(maxLength)], ["a".repeat(maxLength + 1)]);
});

describe("a value outside of what the template allows", () => {
  it("is declared by most kinds of parameters", () => {
    expect(limits.map(({ variable }) => variable)).toEqual(
      expect.arrayContaining(["TRIAL", "STORAGE_SKU", "INSTANCE_MEMORY_MB", "RETENTION_DAYS", "NAME_SUFFIX"]),
    );
  });

  it.each(limits)("is refused before a provision: $variable", ({ variable, good, bad }) => {
    for (const value of bad)
      expect(brokenValues({ [variable]: value }), value).toContainEqual(
        expect.stringMatching(new RegExp(`^${variable}: "${value}" is`)),
      );
    for (const value of good) expect(brokenValues({ [variable]: value }), value).toEqual([]);
  });

  it.each<readonly [string, Readonly<Record<string, string>>, string]>([
    ["a place of no data", { MAIL_DATA_LOCATION: "Europa" }, "is none of Africa, Asia Pacific"],
    ...Object.keys(existingVariables)
      .filter(name => !name.startsWith("SUBNET_ID_"))
      .map(name => [`a name as ${name}`, { [name]: "platform" }, `${name}: "platform" is no id`] as const),
    [
      "an id of another kind",
      { NAT_GATEWAY_ID: existingVariables.WORKSPACE_ID ?? "" },
      "Microsoft.Network/natGateways",
    ],
  ])("is refused as well: %s", (_, environment, problem) => {
    expect(brokenValues(environment)).toContainEqual(expect.stringContaining(problem));
  });

  it("is in none of the environments that the templates are tested with", () => {
    // A trial is tested with a network that it ignores and the hooks refuse.
    for (const [name, environment] of Object.entries<Environment | string>(cases).filter(
      ([name]) => !name.startsWith("trial"),
    ))
      if (typeof environment !== "string") expect(brokenValues(environment), name).toEqual([]);
    for (const MAIL_DATA_LOCATION of ["unitedstates", "United States"])
      expect(brokenValues({ MAIL_DATA_LOCATION })).toEqual([]);
  });
});

describe("a value that the template would pass on wrongly", () => {
  const { SUBNET_ID_CORE, SUBNET_ID_CLIENT, SUBNET_ID_CONNECTOR, SUBNET_ID_AUTH_ENDPOINTS, ...others } =
    existingVariables;
  const { SUBNET_ID_CONNECTOR_ENDPOINTS, SUBNET_ID_CORE_ENDPOINT, DNS_ZONE_ID_SITES, ...theirs } = others;
  const apps = { SUBNET_ID_CORE, SUBNET_ID_CLIENT, SUBNET_ID_CONNECTOR };
  const endpoints = { SUBNET_ID_AUTH_ENDPOINTS, SUBNET_ID_CONNECTOR_ENDPOINTS, SUBNET_ID_CORE_ENDPOINT };
  const subnets = { ...apps, ...endpoints };
  const trial = { ...subnets, TRIAL: "true" };
  const oneApp = { ...trial, SUBNET_ID_CLIENT: SUBNET_ID_CORE.toLowerCase() };
  const network = { NETWORK_ID: existingNetworkId };
  const range = { NETWORK_PREFIX: "10.20.4.0/24" };
  const additional = { ADDITIONAL_SUBNETS: "runners=10.90.1.0/27" };
  const effect = "ADDITIONAL_SUBNETS has an effect only in the template's own network";
  const someSubnets = /^Either all .* none: SUBNET_ID_CLIENT, .*SUBNET_ID_CORE_ENDPOINT must be set too/;
  const noZones = /the DNS zones must be yours too: set DNS_ZONE_ID_SITES, or PRIVATE_DNS to none/;

  it.each<readonly [string, Environment, string | RegExp]>([
    ["a quote", { PIN_MAIL_ORGANIZATION: 'a "b" c' }, /PIN_MAIL_ORGANIZATION: azd writes .* Write \\" for a/],
    ["a backslash", { PIN_MAIL_ORGANIZATION: "a\\c" }, "PIN_MAIL_ORGANIZATION"],
    ["a tag without value", { RESOURCE_TAGS: "costCenter" }, 'RESOURCE_TAGS: "costCenter" is no pair'],
    ["an empty tag", { RESOURCE_TAGS: "a=1,,b=2" }, 'RESOURCE_TAGS: "" is no pair'],
    ["a subnet without name", { ADDITIONAL_SUBNETS: "10.90.1.0/27" }, /^ADDITIONAL_SUBNETS.* is no pair/],
    ["a subnet without range", { ADDITIONAL_SUBNETS: "runners=" }, /^ADDITIONAL_SUBNETS.* is no pair/],
    ["a subnet with two ranges", { ADDITIONAL_SUBNETS: "runners=a=b" }, /^ADDITIONAL_SUBNETS/],
    ["further subnets in a trial", { ...additional, TRIAL: "true" }, effect],
    ["further subnets in a network of yours", { ...additional, ...network, ...range }, effect],
    ["a network of yours without a range", network, "set NETWORK_PREFIX to a free /24 of it"],
    ["a network and subnets of yours", { ...subnets, ...network, ...range }, "unset NETWORK_ID"],
    ["some subnets of yours", { SUBNET_ID_CORE }, someSubnets],
    ["subnets of yours without every zone", { ...subnets, ...theirs }, noZones],
    ["one subnet for two apps", oneApp, "must be different subnets"],
    [
      "one subnet for all endpoints",
      { ...trial, SUBNET_ID_CONNECTOR_ENDPOINTS: SUBNET_ID_AUTH_ENDPOINTS },
      "different",
    ],
  ])("is refused: %s", (_, environment, problem) => {
    expect(brokenValues(environment)).toContainEqual(expect.stringMatching(problem));
  });

  it.each<readonly [string, Environment]>([
    ["quotes and backslashes as JSON has them", { PIN_MAIL_ORGANIZATION: 'a \\"b\\" \\\\ c' }],
    ["anything in a variable of others", { OTHER: '"' }],
    ["no tags", { RESOURCE_TAGS: "" }],
    ["tags", { RESOURCE_TAGS: "cost center=42, owner=a=b" }],
    ["subnets and zones of yours", { ...subnets, ...theirs, DNS_ZONE_ID_SITES }],
    ["subnets of yours and records by a policy", { ...subnets, PRIVATE_DNS: "none" }],
    ["subnets of yours in a trial", trial],
  ])("is accepted: %s", (_, environment) => {
    expect(brokenValues(environment)).toEqual([]);
  });
});
