import * as z from "zod";

export type Json = Readonly<Record<string, unknown>>;

/** Turns zod schemas to JSON Schema as an OpenAPI document has it; those with an `id` are collected as components. */
export interface SchemaWriter {
  /** @param io which side of the schema: what callers send, or what they get */
  write(schema: z.ZodType, io: "input" | "output"): Json;
  /** Returns the component that a written schema refers to, or the schema itself. */
  resolve(schema: Json): Json;
  /** All components so far by id. A component that only parameters need is left out. */
  readonly components: Readonly<Record<string, Json>>;
}

/** Throws, at `write`, if two different schemas have one id or a schema has no JSON form. */
export function createSchemaWriter(): SchemaWriter {
  const components: Record<string, Json> = {};
  return {
    components,
    resolve: schema => {
      const id = /^#\/components\/schemas\/(.+)$/.exec(String(schema.$ref))?.[1];
      return id === undefined ? schema : (components[id] ?? {});
    },
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

/** A reference to a component. */
export const ref = (kind: string, name: string): Json => ({ $ref: `#/components/${kind}/${name}` });

/** Leaves out of a written schema what is no rule for callers. */
export function tidy({ jsonSchema }: { readonly jsonSchema: z.core.JSONSchema.BaseSchema }): void {
  // An answer may get further fields: code that is generated from the document must not break on them.
  if (jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties;
  // The pattern of a calendar date says nothing beyond the format.
  if (jsonSchema.format === "date-time" || jsonSchema.format === "date") delete jsonSchema.pattern;
  // A field that is sent as text in a query or a form, shown as the type that it has for a person.
  const { shownAs } = jsonSchema;
  if (typeof shownAs === "object" && shownAs !== null) {
    for (const key of ["shownAs", "type", "pattern", "anyOf", "format"]) delete jsonSchema[key];
    Object.assign(jsonSchema, shownAs);
  }
  // The range of safe integers is no rule of any field.
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
}

const referringToComponents = (schema: unknown): Json =>
  JSON.parse(JSON.stringify(schema).replaceAll('"#/$defs/', '"#/components/schemas/'));
