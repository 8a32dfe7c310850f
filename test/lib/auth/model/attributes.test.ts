import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type AttributeHead,
  attributeLimits,
  noAttributes,
  parseAttributeKey,
  parseAttributeValue,
  withAttribute,
  withoutAttribute,
} from "../../../../lib/auth/model/attributes.ts";
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
  const full: AttributeHead = { count: 200, size: 1000 };

  it("are at most 200, and one of them may still be set anew", () => {
    expect(withAttribute({ count: 199, size: 0 }, "k", undefined, "v")).toMatchObject({ ok: true });
    expect(withAttribute(full, "k", undefined, "v")).toMatchObject({ ok: false });
    expect(withAttribute(full, "k", "v", "vv")).toEqual({ ok: true, value: { count: 200, size: 1001 } });
  });

  it("have at most 262,144 code units, keys counted", () => {
    const nearly = { count: 10, size: attributeLimits.size - 10 };
    expect(withAttribute(nearly, "key", undefined, "seven..")).toMatchObject({ ok: true });
    expect(withAttribute(nearly, "key", undefined, "eight...")).toMatchObject({ ok: false });
    expect(withAttribute(nearly, "key", "seven..", "x".repeat(17))).toMatchObject({ ok: true });
    expect(withAttribute(nearly, "key", "seven..", "x".repeat(18))).toMatchObject({ ok: false });
  });

  it("are counted right after any order of setting and deleting", () => {
    const key = fc.constantFrom("a", "bb", "__proto__");
    forAll(fc.array(fc.tuple(key, fc.option(fc.string(), { nil: undefined }))), changes => {
      const kept = new Map<string, string>();
      let head = noAttributes;
      for (const [name, value] of changes) {
        const was = kept.get(name);
        if (value === undefined) {
          head = withoutAttribute(head, name, was);
          kept.delete(name);
        } else {
          const next = withAttribute(head, name, was, value);
          if (!next.ok) throw new Error(next.reason);
          head = next.value;
          kept.set(name, value);
        }
      }
      const sizes = [...kept].map(([name, value]) => name.length + value.length);
      expect(head).toEqual({ count: kept.size, size: sizes.reduce((sum, size) => sum + size, 0) });
    });
  });
});
