import type * as z from "zod";

/** Returns a value with every property of a schema, also the optional ones, so that a new column is tested without a line here. */
export function sampleOf(schema: z.ZodType): unknown {
  const { type, ...rest } = schema.def as unknown as { type: string } & Record<string, unknown>;
  if (rest.innerType !== undefined) return sampleOf(rest.innerType as z.ZodType);
  if (type === "lazy") return sampleOf((rest.getter as () => z.ZodType)());
  if (type === "union") return sampleOf((rest.options as readonly z.ZodType[])[0] as z.ZodType);
  if (type === "record") return { 1: sampleOf(rest.valueType as z.ZodType) };
  if (type === "unknown") return "anything";
  if (type === "array") return [sampleOf(rest.element as z.ZodType)];
  if (type === "enum") return Object.values(rest.entries as object)[0];
  if (type === "literal") return (rest.values as readonly unknown[])[0];
  if (type === "boolean") return true;
  if (type === "number") return 2 ** 40 + 1;
  if (type === "string") return rest.checks === undefined ? "a text" : "2031-01-01T12:34:56.789Z";
  const shape = Object.entries((schema as z.ZodObject).shape as Record<string, z.ZodType>);
  return Object.fromEntries(shape.map(([name, field]) => [name, sampleOf(field)]));
}
