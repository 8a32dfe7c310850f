import * as z from "zod";

type Json = Readonly<Record<string, unknown>>;

/** Turns zod schemas to JSON Schema as an OpenAPI document holds it; those with an `id` are collected as components. */
export interface SchemaWriter {
  /** @param io which side of the schema: what callers send, or what they get */
  write(schema: z.ZodType, io: "input" | "output"): Json;
  /** By id, all that were met so far. */
  readonly components: Readonly<Record<string, Json>>;
}

/** Throws, at `write`, where two different schemas bear one id or a schema has no JSON form. */
export function createSchemaWriter(): SchemaWriter {
  const components: Record<string, Json> = {};
  return {
    components,
    write(schema, io) {
      // The validator names parts by their id, but never the whole; so the whole is made a part.
      const { properties, $defs = {} } = z.toJSONSchema(z.object({ whole: schema }), { io, override: tidy });
      for (const [id, definition] of Object.entries($defs)) {
        const { id: _, ...component } = referringToComponents(definition);
        const known = components[id];
        if (known !== undefined && JSON.stringify(known) !== JSON.stringify(component))
          throw new Error(`two different schemas have the id ${id}`);
        components[id] = component;
      }
      return referringToComponents(properties?.whole);
    },
  };
}

function tidy({ jsonSchema }: { readonly jsonSchema: z.core.JSONSchema.BaseSchema }): void {
  // An answer may get further fields: a caller who generates code from the document must not break on them.
  if (jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties;
  // The calendar as a pattern tells a reader nothing beyond the format.
  if (jsonSchema.format === "date-time") delete jsonSchema.pattern;
}

const referringToComponents = (schema: unknown): Json =>
  JSON.parse(JSON.stringify(schema).replaceAll('"#/$defs/', '"#/components/schemas/'));
