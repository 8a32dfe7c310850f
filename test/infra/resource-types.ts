import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import * as z from "zod";

/** JSON Schema with what the type data adds: `known` values, and variants by one property. */
interface Schema {
  readonly $ref?: string;
  readonly type?: string;
  readonly enum?: readonly string[];
  readonly const?: string;
  readonly known?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Schema;
  readonly items?: Schema;
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly discriminator?: string;
  readonly base?: Readonly<Record<string, Schema>>;
  readonly variants?: Readonly<Record<string, Schema>>;
}

type Definitions = Readonly<Record<string, Schema>>;

interface ResourceType {
  /** `type@version`. */
  readonly resource: string;
  readonly body: Schema;
  readonly $defs: Definitions;
}

/**
 * The folder of Azure's resource types, one JSON file a type: where AZURE_TYPES says, else a folder `azure-types` beside the project.
 * Undefined where there is none.
 */
export function typesFolder(environment: Readonly<Record<string, string | undefined>>): string | undefined {
  if (environment.AZURE_TYPES) return environment.AZURE_TYPES;
  const [found] = globSync(["../azure-types/*.json", "../*/azure-types/*.json"]);
  return found === undefined ? undefined : dirname(found);
}

/** A type by its name without version; undefined where the folder has none. */
export function readType(folder: string, type: string): ResourceType | undefined {
  const path = join(folder, `${type.toLowerCase().replaceAll("/", "_")}.json`);
  return existsSync(path) ? JSON.parse(readFileSync(path, "utf8")) : undefined;
}

/** What is wrong with a resource of this type. Expressions of templates fit every type, and null is a value that is not given. */
export function faultsOf(body: object, { body: wanted, $defs }: ResourceType): readonly string[] {
  const given = JSON.parse(JSON.stringify(body, (_, value) => value ?? undefined));
  const issues = zodOf(wanted, $defs).safeParse(given).error?.issues ?? [];
  return issues.flatMap(issue => {
    const value = issue.path.reduce<unknown>((at, step) => Object(at)[step], given);
    if (typeof value === "string" && /^\[.*\]$/s.test(value)) return [];
    const way = [...issue.path, ...(issue.code === "unrecognized_keys" ? issue.keys : [])];
    return [`${way.map(String).join(".")}: ${issue.code}, ${issue.message}`];
  });
}

function zodOf(schema: Schema, defs: Definitions): z.ZodType {
  if (schema.$ref !== undefined) return z.lazy(() => zodOf(resolved(schema, defs), defs));
  const { discriminator, variants = {} } = schema;
  if (discriminator !== undefined) {
    const [first, ...others] = Object.entries(variants).map(([name, variant]) => {
      const own = resolved(variant, defs);
      const properties = { ...schema.base, ...own.properties, [discriminator]: { const: name } };
      return objectOf({ ...own, properties, required: [...(own.required ?? []), discriminator] }, defs);
    });
    return first === undefined ? z.never() : z.discriminatedUnion(discriminator, [first, ...others]);
  }
  const listed = schema.const === undefined ? (schema.enum ?? schema.known) : [schema.const];
  if (listed !== undefined) return z.literal([...listed]);
  const { type, items = {}, pattern = "", minLength = 0, maxLength = Infinity } = schema;
  const { minimum = -Infinity, maximum = Infinity } = schema;
  if (type === "object") return objectOf(schema, defs);
  if (type === "array") return z.array(zodOf(items, defs));
  if (type === "string") return z.string().regex(new RegExp(pattern)).min(minLength).max(maxLength);
  if (type === "integer") return z.int().min(minimum).max(maximum);
  return type === "boolean" ? z.boolean() : z.unknown();
}

const resolved = (schema: Schema, defs: Definitions): Schema =>
  schema.$ref === undefined ? schema : (defs[schema.$ref.replace("#/$defs/", "")] ?? { enum: [] });

function objectOf(schema: Schema, defs: Definitions): z.ZodObject {
  const { properties = {}, required = [], additionalProperties: others = false } = schema;
  const entries = Object.entries(properties).map(([name, each]) => {
    const type = zodOf(each, defs);
    return [name, required.includes(name) ? type : type.optional()];
  });
  const shape = z.strictObject(Object.fromEntries(entries));
  if (others === false) return shape;
  return shape.catchall(others === true ? z.unknown() : zodOf(others, defs));
}
