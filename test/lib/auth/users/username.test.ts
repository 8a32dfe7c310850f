import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { foldUsername, parseUserId, parseUsername, parseUserReference } from "../../../../lib/auth/users/username.ts";
import { forAll } from "../../../support/for-all.ts";

const unicode = fc.string({ unit: "binary", maxLength: 40 });
const nameOf = (text: string) => {
  const result = parseUsername(text);
  return result.ok ? result.value.name : undefined;
};
const foldedOf = (text: string) => {
  const result = parseUsername(text);
  return result.ok ? result.value.folded : undefined;
};

describe("a username", () => {
  it.each([
    ["trillian", "trillian"],
    ["  Trillian\t", "Trillian"],
    ["a b", "a b"],
    ["42a", "42a"],
    ["...", "..."],
    ["O'Brien%+&=@:*,;", "O'Brien%+&=@:*,;"],
    ["__proto__", "__proto__"],
    ["😀", "😀"],
    ["e\u0301va", "\u00e9va"],
    ["a".repeat(128), "a".repeat(128)],
    ["😀".repeat(128), "😀".repeat(128)],
    ["e\u0301".repeat(128), "\u00e9".repeat(128)],
  ])("%j is kept as %j", (text, kept) => {
    expect(nameOf(text)).toBe(kept);
  });

  it.each([
    "",
    "   ",
    "42",
    "007",
    ".",
    "..",
    " .. ",
    "a/b",
    "a\\b",
    "a?b",
    "a#b",
    "a\u0000b",
    "a\u007fb",
    "a\u0085b",
    "a\nb",
    "\ud800a",
    "dave\u200b",
    "da\u00adve",
    "dave\u202e",
    "\u05d0\u200f",
    "a\u2028b",
    "\u{1f469}\u200d\u{1f680}",
    "dave\u3164",
    "da\u00a0ve",
    "da\u3000ve",
    "dave\u2800",
    "da  ve",
    "❤\ufe0f",
    "a\u0378",
    "a\ue000",
    "a\uffff",
    "a\u{e0041}",
    "a".repeat(129),
    "😀".repeat(129),
  ])("%j is none", text => {
    expect(parseUsername(text)).toMatchObject({ ok: false, reason: expect.stringMatching(/^must /) });
  });

  it("may take four code points for each of its characters", () => {
    const decomposed = "\u03b1\u0313\u0300\u0345".repeat(128);
    expect(nameOf(`  ${decomposed}`)).toBe("\u1f82".repeat(128));
    expect(nameOf(`${decomposed}\u0316`)).toBeUndefined();
  });

  it.each([
    ["Trillian", "TRILLIAN"],
    ["É", "e\u0301"],
    ["Ångström", "a\u030angstro\u0308m"],
    ["İ", "i\u0307"],
    ["\u212aay", "kay"],
    ["H\u0331", "\u1e96"],
  ])("%j and %j are one user", (one, other) => {
    expect(foldedOf(one)).toBe(foldedOf(other));
  });

  it.each([
    ["strasse", "straße"],
    ["a", "ａ"],
    ["1x", "１x"],
  ])("%j and %j are two users", (one, other) => {
    expect(foldedOf(one)).not.toBe(foldedOf(other));
  });

  it("is folded alike whether it was composed or not", () => {
    expect(foldUsername("e\u0301")).toBe(foldUsername("\u00c9"));
    forAll(unicode, text => {
      expect(foldUsername(text.normalize("NFD"))).toBe(foldUsername(text));
    });
  });

  it("is the same however often it is parsed or folded", () => {
    forAll(unicode, text => {
      const once = parseUsername(text);
      if (!once.ok) return;
      expect(parseUsername(once.value.name)).toEqual(once);
      expect(foldUsername(once.value.folded)).toBe(once.value.folded);
    });
  });

  it("is found by its own name as a path segment, and never by digits alone", () => {
    forAll(unicode, text => {
      const result = parseUsername(text);
      if (!result.ok) return;
      expect(parseUserReference(result.value.name)).toEqual({ by: "name", folded: result.value.folded });
    });
  });

  it("has a form that stays the same in any letter case of ASCII", () => {
    forAll(fc.string({ maxLength: 40 }), text => {
      expect(foldedOf(text.toUpperCase())).toBe(foldedOf(text.toLowerCase()));
    });
  });
});

describe("a user's id", () => {
  it("is a positive integer below 2^53", () => {
    forAll(fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }), id => {
      expect(parseUserId(String(id))).toBe(id);
      expect(parseUserReference(String(id))).toEqual({ by: "id", id });
    });
  });

  it.each(["0", "01", "-1", "+1", "1.0", "1e3", " 1", "9007199254740992", "9".repeat(400), "", "١٢"])(
    "%j is none",
    text => {
      expect(parseUserId(text)).toBeUndefined();
    },
  );

  it.each(["0", "01", "9007199254740992", "", "a/b", ".."])("the segment %j names no user", segment => {
    expect(parseUserReference(segment)).toBeUndefined();
  });
});
