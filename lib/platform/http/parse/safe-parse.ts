import type * as z from "zod";
import { Fault } from "../../fault.ts";

/**
 * Returns the result of a schema. Zod compares the `length` of every value that has one, also of an object in the place of a text or list.
 * If that `length` is an object with a member `toString`, the comparison throws. Throws Fault `invalid` then.
 */
export function safeParse<T extends z.ZodType>(schema: T, value: unknown): z.ZodSafeParseResult<z.output<T>> {
  try {
    return schema.safeParse(value);
  } catch (error) {
    if (!hasObjectAsLength(value)) throw error;
    throw new Fault("invalid", "The request must not have an object in the place of a text or list.");
  }
}

const hasObjectAsLength = (value: unknown): boolean =>
  typeof value === "object" &&
  value !== null &&
  Object.entries(value).some(
    ([name, member]) => (name === "length" && typeof member === "object") || hasObjectAsLength(member),
  );
