import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import * as z from "zod";
import { isObject } from "./json.ts";

/** JSON Schema with what the type data adds: `known` values, and variants by one property. */
export interface Schema {
  readonly $ref?: string | undefined;
  readonly type?: string | undefined;
  readonly enum?: readonly unknown[] | undefined;
  readonly const?: unknown;
  readonly known?: readonly string[] | undefined;
  readonly properties?: Readonly<Record<string, Schema>> | undefined;
  readonly required?: readonly string[] | undefined;
  readonly additionalProperties?: boolean | Schema | undefined;
  readonly items?: Schema | undefined;
  readonly pattern?: string | undefined;
  readonly minLength?: number | undefined;
  readonly maxLength?: number | undefined;
  readonly minimum?: number | undefined;
  readonly maximum?: number | undefined;
  readonly discriminator?: string | undefined;
  readonly base?: Readonly<Record<string, Schema>> | undefined;
  readonly variants?: Readonly<Record<string, Schema>> | undefined;
}

export interface ResourceType {
  /** `type@version`. */
  readonly resource: string;
  readonly body: Schema;
  readonly $defs: Readonly<Record<string, Schema>>;
}

const schema: z.ZodType<Schema> = z.lazy(() =>
  z.object({
    $ref: z.string().optional(),
    type: z.string().optional(),
    enum: z.array(z.unknown()).optional(),
    const: z.unknown().optional(),
    known: z.array(z.string()).optional(),
    properties: z.record(z.string(), schema).optional(),
    required: z.array(z.string()).optional(),
    additionalProperties: z.union([z.boolean(), schema]).optional(),
    items: schema.optional(),
    pattern: z.string().optional(),
    minLength: z.number().optional(),
    maxLength: z.number().optional(),
    minimum: z.number().optional(),
    maximum: z.number().optional(),
    discriminator: z.string().optional(),
    base: z.record(z.string(), schema).optional(),
    variants: z.record(z.string(), schema).optional(),
  }),
);

const resourceType = z.object({ resource: z.string(), body: schema, $defs: z.record(z.string(), schema) });

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
  return existsSync(path) ? resourceType.parse(JSON.parse(readFileSync(path, "utf8"))) : undefined;
}

/** What is wrong with a resource of this type: a sentence with the way to it for each fault. Expressions of templates fit every type, and null is a value that is not given. */
export const faultsOf = (body: unknown, { body: wanted, $defs }: ResourceType): readonly string[] =>
  faults(body, wanted, "", $defs);

function faults(value: unknown, given: Schema, way: string, defs: ResourceType["$defs"]): readonly string[] {
  const at = way === "" ? "the body" : way;
  if (value === null || (typeof value === "string" && /^\[.*\]$/s.test(value))) return [];
  const wanted = given.$ref === undefined ? given : defs[given.$ref.replace("#/$defs/", "")];
  if (wanted === undefined) return [`${at}: the type data has no ${given.$ref}`];
  if (wanted.discriminator !== undefined) return ofVariant(value, wanted, way, defs);
  if (wanted.const !== undefined && value !== wanted.const)
    return [`${at} is ${JSON.stringify(value)}, not ${wanted.const}`];
  const listed = wanted.enum ?? wanted.known;
  if (listed !== undefined && !listed.includes(value))
    return [`${at} is ${JSON.stringify(value)}, none of ${listed.join(", ")}`];
  switch (wanted.type) {
    case "object":
      return isObject(value) ? ofObject(value, wanted, way, defs) : [`${at} is no object`];
    case "array":
      if (!Array.isArray(value)) return [`${at} is no array`];
      return value.flatMap((item, position) => faults(item, wanted.items ?? {}, `${way}[${position}]`, defs));
    case "string":
      return typeof value === "string" ? ofText(value, wanted, at) : [`${at} is no text`];
    case "integer":
      return Number.isSafeInteger(value) ? ofNumber(Number(value), wanted, at) : [`${at} is no whole number`];
    case "boolean":
      return typeof value === "boolean" ? [] : [`${at} is neither true nor false`];
    default:
      return [];
  }
}

function ofVariant(value: unknown, wanted: Schema, way: string, defs: ResourceType["$defs"]): readonly string[] {
  const name = wanted.discriminator ?? "";
  if (!isObject(value)) return [`${way || "the body"} is no object`];
  const variant = wanted.variants?.[String(value[name])];
  if (variant === undefined)
    return [
      `${way}.${name} is ${JSON.stringify(value[name])}, none of ${Object.keys(wanted.variants ?? {}).join(", ")}`,
    ];
  const own = variant.$ref === undefined ? variant : (defs[variant.$ref.replace("#/$defs/", "")] ?? {});
  return ofObject(value, { ...own, properties: { ...wanted.base, ...own.properties } }, way, defs);
}

function ofObject(
  value: Readonly<Record<string, unknown>>,
  { properties = {}, required = [], additionalProperties: others }: Schema,
  way: string,
  defs: ResourceType["$defs"],
): readonly string[] {
  const missing = required
    .filter(name => (value[name] ?? undefined) === undefined)
    .map(name => `${way || "the body"} has no ${name}`);
  const held = Object.entries(value).flatMap(([name, inner]) => {
    const step = way === "" ? name : `${way}.${name}`;
    const known = Object.hasOwn(properties, name) ? properties[name] : undefined;
    if (known !== undefined) return faults(inner, known, step, defs);
    if (others === undefined || others === false) return [`${step} is unknown`];
    return others === true ? [] : faults(inner, others, step, defs);
  });
  return [...missing, ...held];
}

function ofText(
  value: string,
  { pattern, minLength = 0, maxLength = Number.POSITIVE_INFINITY }: Schema,
  at: string,
): readonly string[] {
  if (value.length < minLength || value.length > maxLength) return [`${at} has ${value.length} characters`];
  return pattern !== undefined && !new RegExp(pattern).test(value)
    ? [`${at} is ${JSON.stringify(value)}, not as ${pattern}`]
    : [];
}

const ofNumber = (value: number, { minimum = -Infinity, maximum = Infinity }: Schema, at: string): readonly string[] =>
  value < minimum || value > maximum ? [`${at} is ${value}`] : [];
