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

/**
 * Returns the TypeScript types of an OpenAPI document, for `createClient<paths>()` of openapi-fetch. Deprecated operations and descriptions
 * are left out. The package openapi-typescript is not used: it needs TypeScript 5 (44 MB with its packages), and writes 9,000 lines.
 * @param name of the document, such as `core.json`
 */
export function clientTypes(name: string, document: object): string {
  const { paths, components } = document as Document;
  const operations = Object.entries(paths).flatMap(([path, methods]) => {
    const kept = Object.entries(methods).filter(([, { deprecated }]) => deprecated !== true);
    const texts = kept.map(([method, operation]) => `    ${method}: ${operationType(operation)};`);
    return texts.length === 0 ? [] : [`  ${JSON.stringify(path)}: {\n${texts.join("\n")}\n  };`];
  });
  const schemas = Object.entries(components.schemas ?? {}).map(
    ([schema, content]) => `export type ${schema} = ${typeOf(content, "")};`,
  );
  return [
    `// Written by npm run openapi from ${name}: types of its calls for the commands.`,
    '/** A body in JSON. */\ninterface Json<T> {\n  content: { "application/json": T };\n}',
    callType,
    `export interface paths {\n${operations.join("\n")}\n}`,
    ...schemas,
    "",
  ].join("\n\n");
}

const callType = `/** A call, by its parameters and its successful responses. Every other response has the body of an error. */
interface Call<Parameters, Responses> {
  parameters: Parameters;
  responses: Responses & { default: Json<ErrorResponse> };
}`;

function operationType({ parameters, requestBody, responses }: Operation): string {
  const places = ["path", "query", "header"].flatMap(place => {
    // The one that is a reference is the request id.
    const fields = parameters.filter(each => each.in === place);
    if (fields.length === 0) return [];
    if (place === "path") return [`path: { ${fields.map(each => `${each.name}: string`).join("; ")} };`];
    const texts = fields.map(each => field(each.name, each.schema, each.required === true, "        "));
    return [`${place}${fields.some(({ required }) => required) ? "" : "?"}: {\n${texts.join("\n")}\n      };`];
  });
  const answers = Object.entries(responses).flatMap(([status, { content }]) =>
    status.startsWith("2") ? [`${status}: ${contentType(content, "      ")};`] : [],
  );
  const body = requestBody
    ? ` & { requestBody${requestBody.required ? "" : "?"}: ${contentType(requestBody.content, "    ")} }`
    : "";
  return `Call<${block(places, "    ")}, ${block(answers, "    ")}>${body}`;
}

/** Returns the type with these members, on one line if it fits there. */
function block(members: readonly string[], indent: string): string {
  const line = `{ ${members.join(" ").replace(/;$/, "")} }`;
  if (!line.includes("\n") && line.length < 100) return members.length === 0 ? "{}" : line;
  return `{\n${members.map(member => `${indent}  ${member}\n`).join("")}${indent}}`;
}

/** A body in several forms has the same fields in each. */
function contentType(content: Content | undefined, indent: string): string {
  const schema = content?.["application/json"]?.schema;
  return schema === undefined ? "{ content?: never }" : `Json<${typeOf(schema, indent)}>`;
}

/** @param indent of the line that the type begins in */
function typeOf(schema: Schema, indent: string): string {
  if (schema.$ref !== undefined) return schema.$ref.replace(/^.*\//, "");
  if ("const" in schema) return JSON.stringify(schema.const);
  if (schema.enum) return schema.enum.map(value => JSON.stringify(value)).join(" | ");
  if (schema.anyOf) return [...new Set(schema.anyOf.map(each => typeOf(each, indent)))].join(" | ");
  if (Array.isArray(schema.type)) return schema.type.map(type => typeOf({ ...schema, type }, indent)).join(" | ");
  if (schema.type === "array") return `Array<${typeOf(schema.items ?? {}, indent)}>`;
  if (schema.type === "integer") return "number";
  if (typeof schema.type === "string" && schema.type !== "object") return schema.type;
  const fields = Object.entries(schema.properties ?? {}).map(([name, property]) =>
    field(name, property, schema.required?.includes(name) === true, `${indent}  `),
  );
  if (fields.length === 1 && !fields[0]?.includes("\n")) return `{ ${fields[0]?.trim().slice(0, -1)} }`;
  if (fields.length > 0) return `{\n${fields.join("\n")}\n${indent}}`;
  if (schema.type === undefined) return "unknown";
  const { additionalProperties: values } = schema;
  return `Record<string, ${typeof values === "object" ? typeOf(values, indent) : "unknown"}>`;
}

const field = (name: string, schema: Schema, isRequired: boolean, indent: string) =>
  `${indent}${/^[$\w]+$/.test(name) ? name : JSON.stringify(name)}${isRequired ? "" : "?"}: ${typeOf(schema, indent)};`;
