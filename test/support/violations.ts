import type * as z from "zod";
import { inlinedSchema } from "./inlined-schema.ts";

/** One wrong value for one field of a body. */
export interface Violation {
  readonly path: string;
  /** Undefined: the field is missing. */
  readonly value: unknown;
}

interface Schema {
  readonly type?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
}

/**
 * Returns every single violation of a body's schema: each field missing where it is required, of another type, and past each of its
 * bounds. The first element of a list represents all. A new field of a schema is included without a change here.
 */
export function violationsOf(schema: z.ZodType): readonly Violation[] {
  return ofFields(inlinedSchema(schema, "input") as Schema, "");
}

function ofFields({ properties = {}, required = [] }: Schema, at: string): readonly Violation[] {
  return Object.entries(properties).flatMap(([name, field]) => {
    const path = at === "" ? name : `${at}.${name}`;
    const missing = required.includes(name) ? [undefined, null].map(value => ({ path, value })) : [];
    return [...missing, ...wrongValues(field).map(value => ({ path, value })), ...inside(field, path)];
  });
}

function inside(field: Schema, path: string): readonly Violation[] {
  if (field.items === undefined) return ofFields(field, path);
  const element = `${path}[0]`;
  const wrong = [null, ...wrongValues(field.items)].map(value => ({ path: element, value }));
  return [...wrong, ...ofFields(field.items, element)];
}

function wrongValues(field: Schema): readonly unknown[] {
  if (field.enum !== undefined || field.const !== undefined) return ["no such choice", 99, true, {}];
  switch (field.type) {
    case "string":
      return [
        7,
        true,
        {},
        ["text"],
        "control \u0007 character",
        "two\nlines",
        ...(field.minLength === undefined ? [] : ["x".repeat(field.minLength - 1)]),
        ...(field.maxLength === undefined ? [] : ["x".repeat(field.maxLength + 1)]),
      ];
    case "integer":
    case "number":
      return [
        "6",
        true,
        [],
        6.5,
        ...(field.minimum === undefined ? [] : [field.minimum - 1]),
        ...(field.maximum === undefined ? [] : [field.maximum + 1]),
      ];
    case "boolean":
      return ["true", 1, {}];
    case "array":
      return [
        {},
        "text",
        7,
        ...(field.minItems === undefined ? [] : [[]]),
        ...(field.maxItems === undefined ? [] : [Array.from({ length: field.maxItems + 1 }, () => ({}))]),
      ];
    case "object":
      return [[], "text", 7, true];
    default:
      throw new Error(`a field of a body has the type ${String(field.type)}, of which nothing is known to be wrong`);
  }
}
