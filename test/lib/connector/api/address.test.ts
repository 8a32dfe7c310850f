import { describe, expect, it } from "vitest";
import { isCountryCode, regionProblem } from "../../../../lib/connector/api/address.ts";

describe("country codes", () => {
  it.each(["US", "us", "Ca"])("%s of ISO 3166-1 is one, in any case", code => {
    expect(isCountryCode(code)).toBe(true);
  });

  it.each(["", "U", "USA", "840", "XX", "XK", "ZZ", "UK", "EU", "AN", "ß", "ıt", " US", "U\n", "__proto__"])(
    "%j is none",
    code => {
      expect(isCountryCode(code)).toBe(false);
    },
  );
});

describe("regions", () => {
  const noRegion = (country: string) => `must be a two-letter postal code of a region of ${country}`;
  it.each<[country: unknown, region: unknown, problem: string | RegExp | undefined]>([
    ["US", "AE", undefined],
    ["us", "pr", undefined],
    ["CA", "qc", undefined],
    ["US", "QC", noRegion("US")],
    ["US", "Texas", noRegion("US")],
    ["US", "T", noRegion("US")],
    ["US", "ﬂ", noRegion("US")],
    ["US", "ıd", noRegion("US")],
    ["CA", "TX", noRegion("CA")],
    ["CA", "constructor", noRegion("CA")],
    ["us", undefined, /^is required/],
    ["CA", undefined, /^is required/],
    ["DE", "New South Wales", undefined],
    ["PR", undefined, undefined],
    // Another rule's problem.
    [undefined, "MA", undefined],
    [7, "MA", undefined],
    ["US", 7, undefined],
    ["US", {}, undefined],
    ["__proto__", "MA", undefined],
  ])("of %j: %j has the problem %s", (country, region, problem) => {
    const expected = problem instanceof RegExp ? expect.stringMatching(problem) : problem;
    expect(regionProblem(country, region)).toEqual(expected);
  });

  it("are 62 in the US, with eight territories and freely associated states and three military ones, and 13 in Canada", () => {
    const letters = [..."ABCDEFGHIJKLMNOPQRSTUVWXYZ"];
    const pairs = letters.flatMap(a => letters.map(b => a + b));
    expect(pairs.filter(pair => regionProblem("US", pair) === undefined)).toHaveLength(50 + 1 + 8 + 3);
    expect(pairs.filter(pair => regionProblem("CA", pair) === undefined)).toHaveLength(13);
    expect(pairs.filter(isCountryCode)).toHaveLength(249);
  });
});
