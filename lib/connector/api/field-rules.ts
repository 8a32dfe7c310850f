import * as z from "zod";

/** A field that may be missing or null (decision G4). */
export const optional = <T extends z.ZodType>(schema: T) => z.preprocess(nullAsAbsent, schema.optional());

/** A field with a value of its own where it is missing or null. */
export const withDefault = <T extends z.ZodType>(schema: T, value: z.core.util.NoUndefined<z.output<T>>) =>
  z.preprocess(nullAsAbsent, schema.default(value));

function nullAsAbsent(value: unknown): unknown {
  return value ?? undefined;
}

/**
 * A list of 1 to `max` elements. One that is too long is refused without a look at its elements, so that a hostile body costs
 * little; by a transform, because the validator's own shortcut would also skip the checks of every object around it.
 */
export const listOf = <T extends z.ZodType>(element: T, max: number) =>
  z.preprocess((value, context) => {
    if (!Array.isArray(value) || value.length <= max) return value;
    context.issues.push({ code: "too_big", origin: "array", maximum: max, inclusive: true, input: value });
    return z.NEVER;
  }, z.array(element).min(1).max(max));

/**
 * Option of a check of several fields of an object: it runs also if fields are invalid, so that all problems are reported
 * together (C1). The values that it gets may therefore be of any type.
 */
export const evenIfInvalid = {
  when: ({ value }: { readonly value: unknown }): boolean =>
    typeof value === "object" && value !== null && !Array.isArray(value),
};
