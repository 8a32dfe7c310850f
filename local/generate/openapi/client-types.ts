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
  readonly description?: string;
}

interface Parameter {
  readonly $ref?: string;
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly description?: string;
  readonly schema: Schema;
}

type Content = Readonly<Record<string, { readonly schema?: Schema }>>;

interface Operation {
  readonly summary: string;
  readonly deprecated?: boolean;
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly required?: boolean; readonly content: Content };
  readonly responses: Readonly<Record<string, { readonly $ref?: string; readonly content?: Content }>>;
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas?: Readonly<Record<string, Schema>> };
}

/**
 * Returns the TypeScript types of an OpenAPI document, for `createClient<paths>()` of openapi-fetch. Deprecated operations are left out.
 * The package openapi-typescript is not used: it needs TypeScript 5 (44 MB with its packages), and writes 9,000 lines for these documents.
 * @param name of the document, such as `core.json`
 */
export function clientTypes(name: string, document: object): string {
  const { paths, components } = document as Document;
  const operations = Object.entries(paths).flatMap(([path, methods]) => {
    const kept = Object.entries(methods).filter(([, { deprecated }]) => deprecated !== true);
    const texts = kept.map(
      ([method, operation]) => `    /** ${operation.summary} */\n    ${method}: ${operationType(operation)};`,
    );
    return texts.length === 0 ? [] : [`  ${JSON.stringify(path)}: {\n${texts.join("\n")}\n  };`];
  });
  const schemas = Object.entries(components.schemas ?? {}).map(
    ([schema, content]) => `${comment(content.description, "")}export type ${schema} = ${typeOf(content, "")};`,
  );
  return [
    `// Written by npm run openapi from ${name}: types for openapi-fetch.`,
    `export interface paths {\n${operations.join("\n")}\n}`,
    ...schemas,
    "",
  ].join("\n\n");
}

function operationType({ parameters = [], requestBody, responses }: Operation): string {
  const places = ["path", "query", "header"].flatMap(place => {
    // The one that is a reference is the request id.
    const fields = parameters.filter(each => each.in === place);
    if (fields.length === 0) return [];
    if (place === "path")
      return [`      path: { ${fields.map(each => `${each.name}: ${typeOf(each.schema, "")}`).join("; ")} };`];
    const isRequired = fields.some(({ required }) => required);
    const text = fields.map(each =>
      field(each.name, each.schema, each.required === true, each.description, "        "),
    );
    return [`      ${place}${isRequired ? "" : "?"}: {\n${text.join("\n")}\n      };`];
  });
  const answers = Object.entries(responses).flatMap(([status, { content }]) =>
    status.startsWith("2") ? [`        ${status}: ${contentType(content)};`] : [],
  );
  return [
    "{",
    places.length === 0 ? "      parameters: {};" : `      parameters: {\n${indented(places.join("\n"))}\n      };`,
    ...(requestBody
      ? [`      requestBody${requestBody.required ? "" : "?"}: ${contentType(requestBody.content)};`]
      : []),
    `      responses: {\n${answers.join("\n")}\n        default: { content: { "application/json": ErrorResponse } };\n      };`,
    "    }",
  ].join("\n");
}

const indented = (text: string): string => text.replaceAll(/^/gm, "  ");

/** A body in several forms has the same fields in each. */
function contentType(content: Content = {}): string {
  const [[type, { schema = {} }] = ["", {}]] = Object.entries(content).toSorted(([a], [b]) => rank(a) - rank(b));
  return type === "" ? "{ content?: never }" : `{ content: { ${JSON.stringify(type)}: ${typeOf(schema, "      ")} } }`;
}

const rank = (type: string): number => (type === "application/json" ? 0 : 1);

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
    field(name, property, schema.required?.includes(name) === true, property.description, `${indent}  `),
  );
  if (fields.length > 0) return `{\n${fields.join("\n")}\n${indent}}`;
  if (schema.type === undefined) return "unknown";
  const { additionalProperties: values } = schema;
  return `Record<string, ${typeof values === "object" ? typeOf(values, indent) : "unknown"}>`;
}

const field = (name: string, schema: Schema, isRequired: boolean, description: string | undefined, indent: string) =>
  `${comment(description, indent)}${indent}${/^[$\w]+$/.test(name) ? name : JSON.stringify(name)}${isRequired ? "" : "?"}: ${typeOf(schema, indent)};`;

const comment = (text: string | undefined, indent: string): string =>
  text === undefined ? "" : `${indent}/** ${text.replaceAll("*/", "*\\/").replaceAll(/\s+/g, " ")} */\n`;
