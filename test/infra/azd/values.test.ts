import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { cases, type Environment } from "../cases.ts";
import { existingVariables } from "./existing-resources.ts";
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
