import * as z from "zod";
import type { Environment } from "./read-settings.ts";

/** The documentation of one setting. */
interface SettingDescription {
  readonly name: string;
  readonly description: string;
  /** The default as text; undefined if there is none. */
  readonly defaultText: string | undefined;
  readonly required: boolean;
}

/** Returns the documentation of every setting of a schema, in order. */
export function describeSettings(schema: z.ZodObject): readonly SettingDescription[] {
  return Object.entries(schema.shape).map(([name, field]) => ({
    name,
    description: descriptionOf(field),
    defaultText: defaultTextOf(field),
    required: !z.safeParse(field, undefined).success,
  }));
}

const defaultTextOf = (field: z.core.$ZodType): string | undefined =>
  field instanceof z.ZodPrefault ? String(field.def.defaultValue) : undefined;

/**
 * Returns the description of a schema or of its inner schema, because `refine` and `transform` create schemas without
 * one.
 */
function descriptionOf(schema: z.core.$ZodType): string {
  const { description } = z.globalRegistry.get(schema) ?? {};
  if (description !== undefined) return description;
  if (schema instanceof z.ZodPipe) return descriptionOf(schema.def.in);
  return schema instanceof z.ZodPrefault || schema instanceof z.ZodOptional ? descriptionOf(schema.def.innerType) : "";
}

/** Returns the text of every setting: the given value, else the default, else an empty text. */
export function effectiveSettings(schema: z.ZodObject, environment: Environment): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(schema.shape).map(([name, field]) => [
      name,
      environment[name]?.trim() || (defaultTextOf(field) ?? ""),
    ]),
  );
}
