import * as z from "zod";

type Json = Readonly<Record<string, unknown>>;

/** Returns the JSON schema of a zod schema with each reference to a named schema replaced by that schema. */
export function inlinedSchema(schema: z.ZodType, io: "input" | "output"): Json {
  const { $defs = {}, ...root } = z.toJSONSchema(schema, { io, unrepresentable: "any" });
  const definitions = $defs as Readonly<Record<string, unknown>>;
  const inline = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(inline);
    if (typeof value !== "object" || value === null) return value;
    const { $ref, ...own } = value as { readonly $ref?: unknown };
    const definition = typeof $ref === "string" ? definitions[$ref.replace("#/$defs/", "")] : undefined;
    if ($ref !== undefined && definition === undefined) throw new Error(`The schema has no definition ${String($ref)}`);
    const inlined = Object.fromEntries(Object.entries(own).map(([name, field]) => [name, inline(field)]));
    return { ...(inline(definition) as Json | undefined), ...inlined };
  };
  return inline(root) as Json;
}
