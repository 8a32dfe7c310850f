/** What this generator reads of a JSON schema: the keywords that the project's documents have. */
interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Schema;
}

type Content = Readonly<Record<string, { readonly schema?: Schema }>>;

interface Operation {
  readonly tags: readonly string[];
  readonly deprecated?: boolean;
  readonly parameters: readonly {
    readonly name: string;
    readonly in: string;
    readonly required?: boolean;
    readonly schema: Schema;
  }[];
  readonly requestBody?: { readonly required?: boolean; readonly content: Content };
  readonly responses: Readonly<Record<string, { readonly content?: Content }>>;
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas?: Readonly<Record<string, Schema>> };
}

/** A type: a text, or an object type with its members, and what stands before and after its braces. */
type Type = string | { readonly before: string; readonly members: readonly Type[]; readonly after: string };

/**
 * Returns the TypeScript types of an OpenAPI document, for `createClient<paths>()` of openapi-fetch. Descriptions, deprecated operations
 * and version 1, which is for callers that have it already, are left out. The package openapi-typescript is not used: it needs TypeScript 5 (44 MB with its packages), and writes 9,000 lines.
 * @param name of the document, such as `core.json`
 */
export function clientTypes(name: string, document: object): string {
  const { paths, components } = document as Document;
  const calls = Object.entries(paths).flatMap(([path, methods]) => {
    const kept = Object.entries(methods).filter(
      ([, { deprecated, tags }]) => deprecated !== true && !tags.includes("Version 1"),
    );
    const members = kept.map(([method, operation]) => prefixed(`${method}: `, callOf(operation)));
    return members.length === 0 ? [] : [prefixed(`${JSON.stringify(path)}: `, object(members))];
  });
  const schemas = Object.entries(components.schemas ?? {}).filter(([schema]) => !schema.endsWith("V1"));
  return [
    `// Written by npm run openapi from ${name}: types of its calls for the commands.`,
    helperTypes,
    text(prefixed("export interface paths ", object(calls))),
    ...schemas.map(([schema, content]) => `${text(prefixed(`export type ${schema} = `, typeOf(content)))};`),
    "",
  ].join("\n\n");
}

const helperTypes = `/** A body in JSON. */
interface Json<T> {
  content: { "application/json": T };
}

/** No body. */
type Empty = { content?: never };

/** A call: its parameters, body and successful responses by status. Every other response has the body of an error. */
type Call<T> = {
  parameters: Pick<T, keyof T & ("path" | "query" | "header")>;
  responses: Pick<T, keyof T & number> & { default: Json<ErrorResponse> };
} & Pick<T, keyof T & "requestBody">;`;

function callOf({ parameters, requestBody, responses }: Operation): Type {
  const places = ["path", "query", "header"].flatMap(place => {
    // The one that is a reference is the request id.
    const fields = parameters.filter(each => each.in === place);
    const isRequired = fields.some(({ required }) => required);
    const members = fields.map(({ name, schema, required = false }) => field(name, required, typeOf(schema)));
    return fields.length === 0 ? [] : [field(place, isRequired, object(members))];
  });
  const successes = Object.entries(responses).filter(([status]) => status.startsWith("2"));
  const members = [
    ...places,
    ...(requestBody ? [field("requestBody", requestBody.required === true, contentType(requestBody.content))] : []),
    ...successes.map(([status, { content }]) => field(status, true, contentType(content))),
  ];
  return prefixed("Call<", object(members), ">");
}

/** A body in several forms has the same fields in each. */
function contentType(content: Content | undefined): Type {
  const schema = content?.["application/json"]?.schema;
  return schema === undefined ? "Empty" : prefixed("Json<", typeOf(schema), ">");
}

function typeOf(schema: Schema): Type {
  if (schema.$ref !== undefined) return schema.$ref.replace(/^.*\//, "");
  if ("const" in schema) return JSON.stringify(schema.const);
  if (schema.enum) return schema.enum.map(value => JSON.stringify(value)).join(" | ");
  const alternatives = Array.isArray(schema.type) ? schema.type.map(type => ({ ...schema, type })) : schema.anyOf;
  if (alternatives) return [...new Set(alternatives.map(each => oneLine(typeOf(each))))].join(" | ");
  if (schema.type === "array") return prefixed("Array<", typeOf(schema.items ?? {}), ">");
  if (schema.type === "integer") return "number";
  if (typeof schema.type === "string" && schema.type !== "object") return schema.type;
  const fields = Object.entries(schema.properties ?? {}).map(([name, property]) =>
    field(name, schema.required?.includes(name) === true, typeOf(property)),
  );
  if (fields.length > 0) return object(fields);
  if (schema.type === undefined) return "unknown";
  const { additionalProperties: values } = schema;
  return `Record<string, ${typeof values === "object" ? oneLine(typeOf(values)) : "unknown"}>`;
}

const object = (members: readonly Type[]): Type => (members.length === 0 ? "{}" : { before: "", members, after: "" });

const prefixed = (before: string, type: Type, after = ""): Type =>
  typeof type === "string"
    ? before + type + after
    : { ...type, before: before + type.before, after: type.after + after };

const field = (name: string, isRequired: boolean, type: Type): Type =>
  prefixed(`${/^[$\w]+$/.test(name) ? name : JSON.stringify(name)}${isRequired ? "" : "?"}: `, type);

const oneLine = (type: Type): string =>
  typeof type === "string" ? type : `${type.before}{ ${type.members.map(oneLine).join("; ")} }${type.after}`;

/** Returns a type, on one line if it fits into the 120 characters of the project's code. */
function text(type: Type, indent = ""): string {
  const line = oneLine(type);
  if (typeof type === "string" || indent.length + line.length < 120) return line;
  const members = type.members.map(member => `${indent}  ${text(member, `${indent}  `)};\n`);
  return `${type.before}{\n${members.join("")}${indent}}${type.after}`;
}
