import * as fc from "fast-check";
import type { Schema } from "./document.ts";

/** Values that mean something to the running system, by the name of a field or parameter. */
export type Known = Readonly<Record<string, readonly string[]>>;

/** Returns values that a schema allows; a text is often one of the known ones of its name. */
export function allowed(schema: Schema, known: Known, name = ""): fc.Arbitrary<unknown> {
  if ("const" in schema) return fc.constant(schema.const);
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  if (schema.anyOf !== undefined) return fc.oneof(...schema.anyOf.map(each => allowed(each, known, name)));
  const { minimum: min = -1_000_000, maximum: max = 1_000_000 } = schema;
  switch (schema.type) {
    case "object":
      return object(schema, known);
    case "array":
      return fc.array(allowed(schema.items ?? {}, known, name), {
        minLength: schema.minItems ?? 0,
        maxLength: Math.min(schema.maxItems ?? 3, 3),
      });
    case "integer":
      return fc.integer({ min, max });
    case "number":
      return fc.double({ min, max, noNaN: true });
    case "boolean":
      return fc.boolean();
    case "null":
      return fc.constant(null);
    case "string":
      return fc.oneof({ weight: 2, arbitrary: fc.constantFrom(...(known[name] ?? ["text"])) }, textOf(schema));
    default:
      return fc.jsonValue({ maxDepth: 2 });
  }
}

function object({ properties = {}, required = [] }: Schema, known: Known): fc.Arbitrary<object> {
  const fields = Object.entries(properties).map(([name, inner]) => [name, allowed(inner, known, name)]);
  return fc.record(Object.fromEntries(fields), { requiredKeys: [...required] as never[], noNullPrototype: true });
}

function textOf({ format, pattern, minLength = 0, maxLength = 1000 }: Schema): fc.Arbitrary<string> {
  if (format === "email") return fc.emailAddress();
  if (format?.startsWith("date")) {
    const dates = fc.date({ min: new Date("2020-01-01"), max: new Date("2030-01-01"), noInvalidDate: true });
    return dates.map(date => (format === "date" ? date.toISOString().slice(0, 10) : date.toISOString()));
  }
  if (pattern !== undefined) return fc.stringMatching(new RegExp(pattern, "u"), { maxLength });
  return fc.string({ unit: "grapheme", minLength, maxLength: Math.max(minLength, Math.min(maxLength, 60)) });
}

/** Texts that break code which trusts its input. The longest fits an address, also when escaped. */
export const oddText: fc.Arbitrary<string> = fc.oneof(
  fc.string({ unit: "binary", maxLength: 40 }),
  fc.string({ unit: "grapheme", maxLength: 40 }),
  fc.constantFrom(
    ...["", " ", "\u0000", "..%2f", "%2541", "%", "%ff", "+", "a/b", "a\\b", "?", "#", "__proto__", "constructor"],
    ...["' or 1 eq 1", "''", "\u202eabc", "\u200b", "\ud800", "\udc00x", "e\u0301", "ﷺ", "İ", "ß", "null", "-1", "1e9"],
    ...["9007199254740993", "0x10", "true", "[]", "{}", "a,b", "a;b", "\r\nx: y", "☕", "x".repeat(300)],
    ...["a\u0301\u0316".repeat(60), "😀".repeat(70)],
  ),
);

/** Values of any type. */
export const oddValue: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 3, arbitrary: oddText },
  fc.constantFrom(
    null,
    true,
    false,
    0,
    -1,
    0.5,
    1e308,
    Number.MAX_SAFE_INTEGER,
    [],
    {},
    [[[]]],
    [null],
    "x".repeat(40_000),
  ),
  fc.jsonValue({ maxDepth: 3, stringUnit: "binary" }),
  fc.array(fc.constant({}), { minLength: 100, maxLength: 300 }),
);
