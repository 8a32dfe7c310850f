import * as z from "zod";
import { defaultTextOf } from "../../lib/platform/settings/read-settings.ts";

/** The documentation of one setting. */
interface SettingDescription {
  readonly name: string;
  readonly description: string;
  /** The default as text; undefined if there is none. */
  readonly defaultText: string | undefined;
  readonly required: boolean;
}

/** Returns the documentation of every setting of a schema, in order. */
export const describeSettings = (schema: z.ZodObject): readonly SettingDescription[] =>
  Object.entries(schema.shape).map(([name, field]) => ({
    name,
    description: descriptionOf(field),
    defaultText: defaultTextOf(field),
    required: !z.safeParse(field, undefined).success,
  }));

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
