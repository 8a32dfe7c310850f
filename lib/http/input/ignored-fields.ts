import * as z from "zod";
import { pathOf } from "./problems.ts";

type Keys = readonly PropertyKey[];

/** The most paths that are reported. */
const reportLimit = 20;

/**
 * Returns the paths of the first 20 fields of a valid input that its schema does not know, in the input's order (decision G4).
 * @param input as sent, before parsing
 */
export function ignoredFields(schema: z.core.$ZodType, input: unknown): readonly string[] {
  const paths: string[] = [];
  for (const keys of unknownIn(schema, input, [])) {
    paths.push(pathOf(keys));
    if (paths.length === reportLimit) break;
  }
  return paths;
}

function* unknownIn(schema: z.core.$ZodType, input: unknown, at: Keys): Generator<Keys> {
  const { def } = (schema as z.core.$ZodTypes)._zod;
  switch (def.type) {
    case "object":
      for (const [key, value] of entriesOf(input)) {
        const inner = Object.hasOwn(def.shape, key) ? def.shape[key] : def.catchall;
        if (inner === undefined) yield [...at, key];
        else yield* unknownIn(inner, value, [...at, key]);
      }
      return;
    case "record":
      for (const [key, value] of entriesOf(input)) yield* unknownIn(def.valueType, value, [...at, key]);
      return;
    case "array":
      for (const [index, value] of elementsOf(input).entries()) yield* unknownIn(def.element, value, [...at, index]);
      return;
    case "tuple":
      for (const [index, value] of elementsOf(input).entries()) {
        const inner = def.items[index] ?? def.rest;
        if (inner) yield* unknownIn(inner, value, [...at, index]);
      }
      return;
    case "union": {
      const taken = def.options.find(option => z.safeParse(option, input).success);
      if (taken !== undefined) yield* unknownIn(taken, input, at);
      return;
    }
    case "intersection": {
      const right = new Set([...unknownIn(def.right, input, at)].map(pathOf));
      for (const keys of unknownIn(def.left, input, at)) if (right.has(pathOf(keys))) yield keys;
      return;
    }
    case "optional":
    case "nullable":
    case "nonoptional":
    case "default":
    case "prefault":
    case "readonly":
    case "catch":
    case "success":
      return yield* unknownIn(def.innerType, input, at);
    case "lazy":
      return yield* unknownIn(def.getter(), input, at);
    case "pipe":
      return yield* unknownIn(def.in._zod.def.type === "transform" ? def.out : def.in, input, at);
    default:
  }
}

const entriesOf = (input: unknown): [string, unknown][] =>
  typeof input === "object" && input !== null && !Array.isArray(input) ? Object.entries(input) : [];

const elementsOf = (input: unknown): unknown[] => (Array.isArray(input) ? input : []);
