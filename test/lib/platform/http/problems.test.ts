import { describe, expect, it } from "vitest";
import * as z from "zod";
import {
  findIgnoredFields,
  problemsOf,
  unknownFields,
  unknownParameters,
} from "../../../../lib/platform/http/problems.ts";

const secret = "hunter2-hunter2";

const found = (schema: z.ZodType, input: unknown) => {
  const result = schema.safeParse(input);
  return result.success ? [] : problemsOf(result.error);
};
const reasonFor = (schema: z.ZodType, input: unknown) =>
  found(z.object({ field: schema }), { field: input })[0]?.reason;

describe("problems of an input", () => {
  it("name every wrong field by the path its sender wrote", () => {
    const schema = z.object({
      shipment: z.object({ items: z.array(z.object({ pin: z.object({ length: z.int() }) })) }),
      name: z.string(),
    });
    expect(found(schema, { shipment: { items: [{ pin: { length: 4 } }, { pin: { length: "4" } }] } })).toEqual([
      { path: "shipment.items[1].pin.length", reason: "must be a number" },
      { path: "name", reason: "is required" },
    ]);
  });

  it("name every unknown field of a strict object", () => {
    const schema = z.object({ items: z.array(z.strictObject({ id: z.int() })) });
    expect(found(schema, { items: [{ id: 1, ID: 2, name: secret }] })).toEqual([
      { path: "items[0].ID", reason: "is not a known field" },
      { path: "items[0].name", reason: "is not a known field" },
    ]);
  });

  it("are limited in number for the unknown fields of an object", () => {
    const input = Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [`${index}-`.padEnd(100, "x"), 1]));
    const problems = found(z.object({ inner: z.strictObject({}) }), { inner: input });
    expect(problems).toHaveLength(20);
    expect(problems[19]).toEqual({ path: `inner.${"19-".padEnd(100, "x")}`, reason: "is not a known field" });
  });

  it.each(["x".repeat(101), `{"password":"${secret}"}`, `a ${secret}`, `${secret}!`, `${secret}\n`, "é", ""])(
    "do not show the name %j of an unknown field, because it may be a body with secrets",
    name => {
      const path = "inner.(name not shown)";
      const unknown = [{ path, reason: "is not a known field" }];
      const schema = z.object({ inner: z.object({}) });
      const input = { inner: { [name]: 1 } };
      expect(found(z.object({ inner: z.strictObject({}) }), input)).toEqual(unknown);
      expect(unknownFields(schema, input)).toEqual(unknown);
      expect(findIgnoredFields(schema, input)).toEqual([path]);
      const reason = "is not known: the call has no parameters";
      expect(unknownParameters(undefined, input.inner)).toEqual([{ path: "(name not shown)", reason }]);
    },
  );

  it("have an empty path where the whole input is wrong", () => {
    expect(found(z.object({}), [])).toEqual([{ path: "", reason: "must be an object" }]);
    expect(found(z.object({}), null)).toEqual([{ path: "", reason: "must be an object" }]);
    expect(found(z.object({}), undefined)).toEqual([{ path: "", reason: "is required" }]);
  });

  it.each([
    ["a missing string", z.string(), undefined, "is required"],
    ["a missing choice", z.enum(["a", "b"]), undefined, "is required"],
    ["a missing union", z.union([z.string(), z.int()]), undefined, "is required"],
    ["null", z.string(), null, "is required"],
    ["a string", z.string(), 1, "must be a string"],
    ["a whole number", z.int(), 1.5, "must be a whole number"],
    ["a boolean", z.boolean(), secret, "must be true or false"],
    ["a list", z.array(z.string()), secret, "must be a list"],
    ["an object", z.object({}), secret, "must be an object"],
    ["a single value", z.literal("generate"), secret, "must be generate"],
    ["one of several texts", z.enum(["none", "app"]), secret, "must be one of none, app"],
    ["one of several numbers", z.literal([1, 2]), 3, "must be one of the numbers 1, 2"],
    ["too short a text", z.string().min(1), "", "must have at least 1 character"],
    ["too long a text", z.string().max(8), secret, "must have at most 8 characters"],
    ["an empty list", z.array(z.string()).min(1), [], "must have at least 1 element"],
    ["too long a list", z.array(z.string()).max(2), ["", "", ""], "must have at most 2 elements"],
    ["too small a number", z.int().min(4), 3, "must be at least 4"],
    ["too great a number", z.int().max(63), 64, "must be at most 63"],
    ["a number at an open end", z.number().gt(0), 0, "must be more than 0"],
    ["a number at an open upper end", z.number().lt(1), 1, "must be less than 1"],
    ["an odd number", z.int().multipleOf(2), 3, "must be a multiple of 2"],
    ["an email address", z.email(), secret, "must be an email address"],
    ["a time", z.iso.datetime(), secret, "must be a time in ISO 8601, as in 2026-01-31T10:00:00Z"],
    ["an id", z.guid(), secret, "must be a UUID"],
    ["a pattern", z.string().regex(/^x$/), secret, "is not well-formed"],
    ["a strict object", z.strictObject({}), { other: 1 }, "is not a known field"],
    ["a union", z.union([z.string(), z.int()]), true, "must be a string or must be a number"],
    ["a value of its own rule", z.string().refine(() => false), secret, "is not valid"],
    ["a schema with its own text", z.string().min(40, { error: "must be longer" }), secret, "must be longer"],
  ])("say what is expected of %s", (_, schema, input, reason) => {
    expect(reasonFor(schema, input)).toBe(reason);
  });

  it("never repeat a value", () => {
    const schemas = [
      z.int(),
      z.literal("a"),
      z.enum(["a", "b"]),
      z.email(),
      z.url(),
      z.uuid(),
      z.string().max(2),
      z.strictObject({}),
    ];
    for (const schema of [...schemas, z.union(schemas), z.record(z.literal("a"), z.int())]) {
      for (const input of [secret, [secret], { [secret]: secret }]) {
        expect(reasonFor(schema, input)).toBeTypeOf("string");
        expect(reasonFor(schema, input)).not.toContain(secret);
      }
    }
  });
});
