import * as fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { looksLikeOtp, possiblePrefixes, splitOtp } from "../../../../../lib/auth/otpkeys/kinds/split-otp.ts";
import { parsePrefix } from "../../../../../lib/auth/otpkeys/prefix.ts";
import { forAll } from "../../../../support/for-all.ts";

interface KeyShape {
  readonly kind?: "hotp" | "totp" | "yubico" | "remote";
  readonly digits?: number;
}
const modhex = "hknhfjbrjnlnldnhcujvddbikngjrtgh";
const keys = (known: Readonly<Record<string, KeyShape>>) =>
  Object.entries(known).map(([prefix, { kind, digits }]) => ({
    value: { prefix, ...(kind && { kind }), parameters: digits === undefined ? {} : { digits } },
    version: "",
  }));
const six = { kind: "hotp", digits: 6 } as const;
const eight = { kind: "hotp", digits: 8 } as const;
const found = (otp: string, known: Readonly<Record<string, KeyShape>>) => {
  const split = splitOtp(otp, keys(known));
  return split && [split.key.value.prefix, split.code];
};

describe("an OTP is split by the known kind of the key with that prefix", () => {
  it.each([
    ["ubhe12345678755224", { ubhe12345678: six }, ["ubhe12345678", "755224"]],
    ["ubhe1234567884755224", { ubhe12345678: eight }, ["ubhe12345678", "84755224"]],
    ["ubhe1234567884755224", { ubhe1234567884: six }, ["ubhe1234567884", "755224"]],
    ["x1755224", { x1: { kind: "totp", digits: 6 } }, ["x1", "755224"]],
    [`dteffuje${modhex}`, { dteffuje: { kind: "yubico" } }, ["dteffuje", modhex]],
    [`dteffuje${modhex}`, { dteffuje: { kind: "remote" } }, ["dteffuje", modhex]],
    [`${"v".repeat(32)}${modhex}`, { ["v".repeat(32)]: { kind: "yubico" } }, ["v".repeat(32), modhex]],
    [`00ab${modhex}`, { "00ab": { kind: "yubico" } }, ["00ab", modhex]],
  ] as const)("%s", (otp, known, expected) => {
    expect(found(otp, known)).toEqual(expected);
    expect(found(otp.toUpperCase(), known)).toEqual(expected);
  });

  it.each([
    ["ubhe12345678755224", { ubhe12345678: eight }],
    ["ubhe1234567884755224", { ubhe12345678: six }],
    ["ubhe12345678755224", { ubhe12345678: { kind: "yubico" } }],
    [`dteffuje${modhex}`, { dteffuje: six }],
    [`dteffuje${modhex}`, {}],
    [modhex, { "": { kind: "yubico" } }],
    ["755224", { "": six }],
    [`${"v".repeat(33)}${modhex}`, { ["v".repeat(33)]: { kind: "yubico" } }],
    [`dteffuje${modhex.replace("h", "a")}`, { dteffuje: { kind: "yubico" } }],
    ["", {}],
    ["ubhe-2345678755224", { "ubhe-2345678": six }],
    [" ubhe12345678755224", { ubhe12345678: six }],
    ["ubhe12345678755224\n", { ubhe12345678: six }],
  ] as const)("no other key answers for %j", (otp, known) => {
    expect(found(otp, known)).toBeUndefined();
  });

  it("with the longer prefix where two keys fit, and where a key has no secret yet by any split", () => {
    const both = { ubhe12345678: eight, ubhe1234567884: six };
    expect(found("ubhe1234567884755224", both)).toEqual(["ubhe1234567884", "755224"]);
    expect(found("ubhe1234567884755224", { ubhe12345678: {} })).toEqual(["ubhe12345678", "84755224"]);
  });

  it("and its letters are folded by ASCII alone: a sign that is no letter of modhex does not become one", () => {
    expect(possiblePrefixes(`dteffuje${modhex.replace("k", "\u212a")}`)).toEqual([]);
  });

  it("with at most three prefixes to look up, both made of the OTP, the longer one first", () => {
    const letters = fc.constantFrom(..."0123456789cbdefghijklnrtuvaxZ-é");
    const texts = fc.oneof(
      fc.string({ unit: letters, maxLength: 80 }),
      fc.string({ unit: fc.constantFrom(..."0123456789"), maxLength: 50 }),
      fc.string({ unit: fc.constantFrom(..."cbdefghijklnrtuv"), maxLength: 80 }),
      fc.string({ unit: fc.constantFrom(..."cbde0123"), maxLength: 50 }),
    );
    forAll(texts, otp => {
      const found = possiblePrefixes(otp);
      expect(found.length).toBeLessThanOrEqual(3);
      for (const prefix of found) {
        expect(otp.toLowerCase().startsWith(prefix)).toBe(true);
        expect(otp.toLowerCase().slice(prefix.length)).toMatch(/^(?:[0-9]{6,8}|[cbdefghijklnrtuv]{32})$/);
        expect(prefix).toMatch(/^[a-z0-9]{1,32}$/);
      }
      const lengths = found.map(prefix => prefix.length);
      expect(lengths).toEqual([...lengths].sort((a, b) => b - a));
    });
  });
});

it("a text that is longer than any OTP or prefix is not looked through", () => {
  const replace = vi.spyOn(String.prototype, "replace");
  try {
    for (const text of ["V".repeat(65), "V".repeat(10_000), `${"v".repeat(10_000)}${modhex}`]) {
      expect([possiblePrefixes(text), parsePrefix(text)]).toEqual([[], undefined]);
    }
    expect(replace).not.toHaveBeenCalled();
  } finally {
    replace.mockRestore();
  }
});

describe("a prefix to assign", () => {
  it.each([
    ["vvccccbcdeft755224", true],
    ["dteffuje12345678", true],
    ["ubhe12345678755224", true],
    ["ubhe12345678", false],
    ["k7205759403792794", false],
    ["1000001", false],
    ["755224", true],
    ["2600135004012", false],
    ["8300000001755224", true],
    ["dteffuje", false],
    [modhex, false],
  ])("that is %j looks like an OTP: %j", (text, isOtp) => {
    expect(looksLikeOtp(text)).toBe(isOtp);
  });
});
