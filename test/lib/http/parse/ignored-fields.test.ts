import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { findIgnoredFields } from "../../../../lib/http/parse/ignored-fields.ts";
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
    ["nullable", inner.nullable()],
    ["nullish", inner.nullish()],
    ["default", inner.default({ known: "" })],
    ["prefault", inner.prefault({ known: "" })],
    ["readonly", inner.readonly()],
    ["catch", inner.catch({ known: "" })],
    ["lazy", z.lazy(() => inner)],
    ["refined", inner.refine(() => true)],
    ["transformed", inner.transform(value => value.known)],
    ["piped", inner.pipe(z.transform(value => value))],
    ["preprocessed", z.preprocess(value => value, inner)],
    ["nonoptional", z.nonoptional(inner.optional())],
    ["one of a union", z.union([z.string(), inner])],
  ])("looks into an object that is %s", (_, schema) => {
    expect(findIgnoredFields(z.object({ field: schema }), { field: sent })).toEqual(["field.extra"]);
  });

  it("looks into lists, tuples and records", () => {
    expect(findIgnoredFields(z.array(inner), [sent, sent])).toEqual(["[0].extra", "[1].extra"]);
    expect(findIgnoredFields(z.tuple([inner], inner), [sent, sent])).toEqual(["[0].extra", "[1].extra"]);
    expect(findIgnoredFields(z.record(z.string(), inner), { any: sent })).toEqual(["any.extra"]);
  });

  it("takes the member of a union that accepts the input", () => {
    const schema = z.discriminatedUnion("kind", [
      z.object({ kind: z.literal("a"), a: z.string() }),
      z.object({ kind: z.literal("b"), b: z.string() }),
    ]);
    expect(findIgnoredFields(schema, { kind: "b", a: "", b: "" })).toEqual(["a"]);
  });

  it("knows what either side of an intersection knows", () => {
    const schema = z.intersection(inner, z.object({ other: z.string() }));
    expect(findIgnoredFields(schema, { known: "", other: "", extra: 1 })).toEqual(["extra"]);
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
    const schema = z.object({ list: z.array(inner).nullish(), object: inner.nullish() });
    expect(findIgnoredFields(schema, { list: null, object: null })).toEqual([]);
    forAll(fc.anything(), input => {
      expect(findIgnoredFields(schema, input)).toBeInstanceOf(Array);
    });
  });
});
