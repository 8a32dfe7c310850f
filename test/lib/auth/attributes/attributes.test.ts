import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type Attributes,
  attributeLimits,
  attributeOf,
  parseAttributeKey,
  parseAttributeValue,
  withAttribute,
  withoutAttribute,
} from "../../../../lib/auth/attributes/attributes.ts";
import { forAll } from "../../../support/for-all.ts";

describe("an attribute's key", () => {
  it.each(["a", "A-b_c.d:e@f", "...", "-", "0", "__proto__", "constructor", "x".repeat(128)])("may be %j", key => {
    expect(parseAttributeKey(key)).toEqual({ ok: true, value: key });
  });

  it.each(["", ".", "..", "$top", "$", "a$b", "a b", "a/b", "a'b", "é", "😀", "a\n", "x".repeat(129)])(
    "is not %j",
    key => {
      expect(parseAttributeKey(key)).toMatchObject({ ok: false });
    },
  );
});

describe("an attribute's value", () => {
  it.each(["", "12", "é😀\u0000\n", "x".repeat(32_768), "😀".repeat(16_384)])("may be any text (%#)", value => {
    expect(parseAttributeValue(value)).toEqual({ ok: true, value });
  });

  it.each(["x".repeat(32_769), "😀".repeat(16_385), "\ud800"])(
    "has at most 32,768 code units, and is well-formed (%#)",
    value => {
      expect(parseAttributeValue(value)).toMatchObject({ ok: false });
    },
  );
});

describe("the attributes of one owner", () => {
  const some = (count: number, value: string) =>
    Object.fromEntries(Array.from({ length: count }, (_, n) => [`k${String(n).padStart(3, "0")}`, value]));

  it("are at most 200, and one of them may still be set anew", () => {
    expect(withAttribute(some(199, "v"), "k", "v")).toMatchObject({ ok: true });
    expect(withAttribute(some(200, "v"), "k", "v")).toMatchObject({ ok: false });
    const next = withAttribute(some(200, "v"), "k000", "vv");
    expect(next).toEqual({ ok: true, value: { ...some(200, "v"), k000: "vv" } });
  });

  it("have at most 262,144 code units, keys counted", () => {
    const nearly = {
      ...some(8, "x".repeat(attributeLimits.size / 8 - 4)),
      k000: "x".repeat(attributeLimits.size / 8 - 14),
    };
    expect(withAttribute(nearly, "key", "seven..")).toMatchObject({ ok: true });
    expect(withAttribute(nearly, "key", "eight...")).toMatchObject({ ok: false });
    const full = withAttribute(nearly, "key", "seven..");
    expect(full.ok && withAttribute(full.value, "key", "seven!!")).toMatchObject({ ok: true });
    expect(full.ok && withAttribute(full.value, "key", "eight!!!")).toMatchObject({ ok: false });
  });

  it("are right after any order of setting and deleting", () => {
    const key = fc.constantFrom("a", "bb", "__proto__");
    forAll(fc.array(fc.tuple(key, fc.option(fc.string(), { nil: undefined }))), changes => {
      const kept = new Map<string, string>();
      let attributes: Attributes = {};
      for (const [name, value] of changes) {
        if (value === undefined) {
          attributes = withoutAttribute(attributes, name);
          kept.delete(name);
        } else {
          const next = withAttribute(attributes, name, value);
          if (!next.ok) throw new Error(next.reason);
          attributes = next.value;
          kept.set(name, value);
        }
        expect(attributeOf(attributes, name)).toBe(value);
      }
      expect(new Map(Object.entries(attributes))).toEqual(kept);
    });
  });
});
