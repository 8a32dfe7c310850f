import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { connector } from "../../../../functions/connector/routes.ts";
import { findIgnoredFields } from "../../../../lib/platform/http/problems.ts";
import { forAll } from "../../../support/for-all.ts";

const inner = z.object({ known: z.string() });
const sent = { known: "", extra: 1 };

describe("unknown fields are ignored, never silently", () => {
  it("names the first 20", () => {
    const many = Object.fromEntries(Array.from({ length: 130_000 }, (_, index) => [`f${index}`, 0]));
    expect(findIgnoredFields(inner, { known: "", ...many })).toEqual(Object.keys(many).slice(0, 20));
  });

  it("names them by their paths", () => {
    const schema = z.object({
      shipment: z.object({ items: z.array(z.object({ pin_request: z.object({}).optional() })) }),
    });
    const input = {
      shipmnt: {},
      shipment: { items: [{}, { pin_requst: { length: 4 } }, { pin_request: { lenght: 4 } }] },
    };
    expect(findIgnoredFields(schema, input)).toEqual([
      "shipmnt",
      "shipment.items[1].pin_requst",
      "shipment.items[2].pin_request.lenght",
    ]);
  });

  it.each<[string, z.ZodType]>([
    ["optional", inner.optional()],
    ["default", inner.default({ known: "" })],
    ["lazy", z.lazy(() => inner)],
    ["refined", inner.refine(() => true)],
    ["transformed", inner.transform(value => value.known)],
    ["piped", inner.pipe(z.transform(value => value))],
    ["preprocessed", z.preprocess(value => value, inner)],
  ])("looks into an object that is %s", (_, schema) => {
    expect(findIgnoredFields(z.object({ field: schema }), { field: sent })).toEqual(["field.extra"]);
  });

  it("looks into lists", () => {
    expect(findIgnoredFields(z.array(inner), [sent, sent])).toEqual(["[0].extra", "[1].extra"]);
  });

  it("knows every kind of schema that bodies have", () => {
    const looksInto = ["array", "default", "lazy", "object", "optional", "pipe"];
    const hasNoFields = ["boolean", "enum", "literal", "number", "string", "transform"];
    const kinds = new Set<string>();
    const collect = (schema: z.core.$ZodType): void => {
      const { checks, ...def } = (schema as z.core.$ZodTypes)._zod.def;
      kinds.add(def.type);
      if (def.type === "lazy") collect((schema as z.core.$ZodLazy)._zod.innerType);
      for (const part of Object.values({ ...def, ...(def.type === "object" && def.shape) }))
        for (const each of Array.isArray(part) ? part : [part]) if (each instanceof z.core.$ZodType) collect(each);
    };
    for (const { body } of Object.values(connector.endpoints)) if (body !== undefined) collect(body);
    expect([...kinds].sort()).toEqual([...looksInto, ...hasNoFields].sort());
  });

  it("finds nothing where every field is welcome", () => {
    expect(findIgnoredFields(z.looseObject({}), { any: { thing: 1 } })).toEqual([]);
    expect(findIgnoredFields(z.object({ any: z.unknown() }), { any: { thing: 1 } })).toEqual([]);
  });

  it("names a field called like something that every object has", () => {
    expect(findIgnoredFields(inner, JSON.parse('{"known":"","__proto__":1,"constructor":1,"toString":1}'))).toEqual([
      "__proto__",
      "constructor",
      "toString",
    ]);
  });

  it("is empty for null and undefined, and fails on no input", () => {
    const schema = z.object({ list: z.array(inner).optional(), object: inner.optional() });
    expect(findIgnoredFields(schema, { list: null, object: null })).toEqual([]);
    forAll(fc.anything(), input => {
      expect(findIgnoredFields(schema, input)).toBeInstanceOf(Array);
    });
  });
});
