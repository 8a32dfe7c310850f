import * as z from "zod";
import { pathOf } from "./problems.ts";

type Keys = readonly PropertyKey[];

/**
 * Paths of the fields of a valid input that its schema does not know, in the input's order (decision G4).
 * @param input as sent, before parsing
 */
export const ignoredFields = (schema: z.core.$ZodType, input: unknown): string[] =>
  unknownIn(schema, input, []).map(pathOf);

function unknownIn(schema: z.core.$ZodType, input: unknown, at: Keys): Keys[] {
  const { def } = (schema as z.core.$ZodTypes)._zod;
  switch (def.type) {
    case "object":
      return entriesOf(input).flatMap(([key, value]) => {
        const inner = Object.hasOwn(def.shape, key) ? def.shape[key] : def.catchall;
        return inner === undefined ? [[...at, key]] : unknownIn(inner, value, [...at, key]);
      });
    case "record":
      return entriesOf(input).flatMap(([key, value]) => unknownIn(def.valueType, value, [...at, key]));
    case "array":
      return elementsOf(input).flatMap((value, index) => unknownIn(def.element, value, [...at, index]));
    case "tuple":
      return elementsOf(input).flatMap((value, index) => {
        const inner = def.items[index] ?? def.rest;
        return inner ? unknownIn(inner, value, [...at, index]) : [];
      });
    case "union": {
      const taken = def.options.find(option => z.safeParse(option, input).success);
      return taken === undefined ? [] : unknownIn(taken, input, at);
    }
    case "intersection": {
      const right = new Set(unknownIn(def.right, input, at).map(pathOf));
      return unknownIn(def.left, input, at).filter(keys => right.has(pathOf(keys)));
    }
    case "optional":
    case "nullable":
    case "nonoptional":
    case "default":
    case "prefault":
    case "readonly":
    case "catch":
    case "success":
      return unknownIn(def.innerType, input, at);
    case "lazy":
      return unknownIn(def.getter(), input, at);
    case "pipe":
      return unknownIn(def.in._zod.def.type === "transform" ? def.out : def.in, input, at);
    default:
      return [];
  }
}

const entriesOf = (input: unknown): [string, unknown][] =>
  typeof input === "object" && input !== null && !Array.isArray(input) ? Object.entries(input) : [];

const elementsOf = (input: unknown): unknown[] => (Array.isArray(input) ? input : []);
