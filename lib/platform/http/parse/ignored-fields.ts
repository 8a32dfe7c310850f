import type * as z from "zod";
import { pathOf } from "./problems.ts";

type Keys = readonly PropertyKey[];

/** Maximum number of reported paths. */
const reportLimit = 20;

/**
 * Returns the paths of the first 20 fields of a valid input that are not in its schema, in the input's order (G4).
 * @param input the value before parsing
 */
export function findIgnoredFields(schema: z.core.$ZodType, input: unknown): readonly string[] {
  const paths: string[] = [];
  for (const keys of findUnknown(schema, input, [])) {
    paths.push(pathOf(keys));
    if (paths.length === reportLimit) break;
  }
  return paths;
}

/** Knows the kinds of schemas that the bodies of endpoints have; a test fails if one has another. */
function* findUnknown(schema: z.core.$ZodType, input: unknown, at: Keys): Generator<Keys> {
  const { def } = (schema as z.core.$ZodTypes)._zod;
  switch (def.type) {
    case "object":
      for (const [key, value] of entriesOf(input)) {
        const inner = Object.hasOwn(def.shape, key) ? def.shape[key] : def.catchall;
        if (inner === undefined) yield [...at, key];
        else yield* findUnknown(inner, value, [...at, key]);
      }
      return;
    case "array":
      if (!Array.isArray(input)) return;
      for (const [index, value] of input.entries()) yield* findUnknown(def.element, value, [...at, index]);
      return;
    case "optional":
    case "default":
      return yield* findUnknown(def.innerType, input, at);
    case "lazy":
      return yield* findUnknown((schema as z.core.$ZodLazy)._zod.innerType, input, at);
    case "pipe":
      return yield* findUnknown(def.in._zod.def.type === "transform" ? def.out : def.in, input, at);
    default:
  }
}

const entriesOf = (input: unknown): [string, unknown][] =>
  typeof input === "object" && input !== null && !Array.isArray(input) ? Object.entries(input) : [];
