import { describe, expect, it } from "vitest";
import { isCountryCode, normalRegion, regionProblem } from "../../../../lib/connector/api/address.ts";

describe("country codes", () => {
  it.each(["US", "us", "Ca", "DE", "GB", "PR", "TW", "AX", "SS"])("%s of ISO 3166-1 is one, in any case", code => {
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
  it.each(["MA", "ma", "DC", "AA", "AE", "AP", "PR", "GU", "VI", "AS", "MP"])(
    "%s is one of the US: state, military base or territory",
    region => {
      expect(regionProblem("US", region)).toBeUndefined();
      expect(regionProblem("us", region)).toBeUndefined();
    },
  );

  it.each(["AB", "BC", "MB", "NB", "NL", "NS", "NT", "NU", "ON", "PE", "QC", "SK", "YT", "qc"])(
    "%s is one of Canada",
    region => {
      expect(regionProblem("CA", region)).toBeUndefined();
    },
  );

  it.each([
    ["US", "QC"],
    ["US", "XX"],
    ["US", "Texas"],
    ["US", "T"],
    ["US", "ﬂ"],
    ["US", "ıd"],
    ["CA", "TX"],
    ["CA", "constructor"],
  ])("%s has none called %s", (country, region) => {
    expect(regionProblem(country, region)).toBe(`must be a two-letter postal code of a region of ${country}`);
  });

  it.each(["US", "CA", "us"])("%s needs one", country => {
    expect(regionProblem(country, undefined)).toMatch(/^is required/);
  });

  it.each(["DE", "AU", "PR", "XX"])("%s takes any, and none", country => {
    expect(regionProblem(country, "New South Wales")).toBeUndefined();
    expect(regionProblem(country, undefined)).toBeUndefined();
  });

  it.each([
    [undefined, "MA"],
    [7, "MA"],
    ["US", 7],
    ["US", {}],
    [null, null],
    ["__proto__", "MA"],
  ])("%j and %j are another rule's problem", (country, region) => {
    expect(regionProblem(country, region)).toBeUndefined();
  });

  it("are sent on in upper case where they are codes, else as given", () => {
    expect(normalRegion("US", "ma")).toBe("MA");
    expect(normalRegion("DE", "Bayern")).toBe("Bayern");
  });

  it("are 62 in the US, with eight territories and freely associated states and three military ones, and 13 in Canada", () => {
    const letters = [..."ABCDEFGHIJKLMNOPQRSTUVWXYZ"];
    const pairs = letters.flatMap(a => letters.map(b => a + b));
    expect(pairs.filter(pair => regionProblem("US", pair) === undefined)).toHaveLength(50 + 1 + 8 + 3);
    expect(pairs.filter(pair => regionProblem("CA", pair) === undefined)).toHaveLength(13);
    expect(pairs.filter(isCountryCode)).toHaveLength(249);
  });
});
