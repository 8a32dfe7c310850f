import type * as z from "zod";
import { type Api, type RouteParts, routeParts } from "../../../lib/platform/http/api.ts";
import type { Endpoint, Route } from "../../../lib/platform/http/endpoint.ts";
import { type Json, ref, type SchemaWriter } from "./schemas.ts";
import { schemes } from "./security.ts";

export type AnyEndpoint = Omit<Endpoint<never>, "run">;

/** A request that the local system accepts, and its response. */
export interface Example {
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly status: number;
  /** Body of the response. Absent if the response has none. */
  readonly answer?: unknown;
}

/** Examples by the name of the endpoint. */
export type Examples = Readonly<Record<string, Example>>;

/** One route of an endpoint, and what its document needs. */
interface Writing {
  readonly name: string;
  readonly endpoint: AnyEndpoint;
  readonly route: Route;
  readonly prefix: string;
  readonly input: Api<never>["input"];
  readonly schemas: SchemaWriter;
  readonly examples: Examples;
  /** The refusals of an operation by status. */
  readonly refusals: (endpoint: AnyEndpoint) => Readonly<Record<string, Json>>;
}

/** Returns the sentence on the role of the caller, unless only the one that includes all others is sufficient. */
const roleText = ({ role }: AnyEndpoint): readonly string[] =>
  role === undefined || role === "admin" || role === "call" ? [] : [`The role \`${role}\` is sufficient.`];

/** Returns an OpenAPI operation. Throws if the endpoint lacks a description, a tag or an example. */
export function writeOperation({ name, endpoint, route, prefix, input, schemas, examples, refusals }: Writing) {
  const { tag, summary, description, access, params, query, answers } = endpoint;
  const example = examples[name];
  if (tag === undefined || description === undefined || example === undefined)
    throw new Error(`${name} needs a tag, a description and an example.`);
  const parts = routeParts(route, prefix);
  const isAlias = route !== endpoint.routes[0];
  // Fields of a form are read from the query if the method has no body (decision G4).
  const inQuery = input === "fields" && parts.method !== "POST";
  const body = inQuery ? undefined : endpoint.body;
  const written = body && schemas.write(body, "input");
  const fields = inQuery ? (example.body as Readonly<Record<string, string>> | undefined) : undefined;
  const operation = {
    operationId: operationId(name, endpoint.routes, route),
    tags: [tag],
    summary,
    description: [
      description,
      ...roleText(endpoint),
      ...(isAlias ? [aliasText(endpoint.routes[0], parts.method)] : []),
    ].join("\n\n"),
    ...(isAlias && { deprecated: true }),
    security: [
      ...Object.keys(schemes[access]).map(scheme => ({ [scheme]: [] })),
      ...(access === "optional_session" ? [{}] : []),
    ],
    parameters: [
      ...pathParameters(parts, parameters("path", params, example.params, schemas)),
      ...parameters("query", query, example.query, schemas),
      ...parameters("query", inQuery ? endpoint.body : undefined, fields, schemas),
      ...parameters("header", endpoint.headers, example.headers, schemas),
      ref("parameters", "requestId"),
    ],
    ...(body &&
      written && { requestBody: requestBody(input, written, schemas.resolve(written), example.body, isNeeded(body)) }),
    responses: {
      ...successes(answers, { example, schemas, ignorable: endpoint.ignoresUnknown ?? false }),
      ...refusals(endpoint),
    },
  };
  return { path: `/${parts.template}`, method: parts.method.toLowerCase(), operation };
}

/** Returns the id of an operation: the name of the endpoint, for an alias with what differs from the first route. */
function operationId(name: string, [first = "GET /"]: readonly Route[], route: Route): string {
  const [method = "", path = ""] = route.split(" ");
  const [firstMethod, firstPath = ""] = first.split(" ");
  const by = method === firstMethod ? "" : `By${capitalised(method.toLowerCase())}`;
  const isSamePath = [path, path.replace(/\/delete$/, "")].includes(firstPath);
  return `${name}${by}${isSamePath ? "" : `At${capitalised(path.split("/")[1] ?? "")}`}`;
}

export const capitalised = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1);

function aliasText(first: string | undefined, method: string): string {
  if (method === "GET" && first?.startsWith("POST"))
    return `Use \`${first}\` if you can: a query string with secrets is written to the logs of proxies.`;
  return `An alias of \`${first}\`, for existing clients.`;
}

function successes(
  answers: AnyEndpoint["answers"],
  { example, schemas, ignorable }: { example: Example; schemas: SchemaWriter; ignorable: boolean },
): Json {
  const ignored = ignorable ? { "x-ignored-fields": ref("headers", "ignoredFields") } : {};
  return Object.fromEntries(
    Object.entries(answers).map(([status, { description, headers = [], schema, csv }]) => [
      status,
      {
        description,
        headers: {
          ...everyAnswer,
          ...ignored,
          ...Object.fromEntries(headers.map(header => [header, ref("headers", headerNames[header])])),
        },
        ...(schema && {
          content: {
            ...content(
              ["application/json"],
              schemas.write(schema, "output"),
              Number(status) === example.status ? example.answer : undefined,
            ),
            ...(csv && content(["text/csv"], { type: "string" })),
          },
        }),
      },
    ]),
  );
}

const headerNames = {
  "idempotent-replayed": "idempotentReplayed",
  link: "link",
  location: "location",
  "set-cookie": "setCookie",
} as const;

export const everyAnswer = { "x-request-id": ref("headers", "requestId") };

/** Whether a call without a body, which is read as an empty object, is refused. */
const isNeeded = (body: z.ZodType): boolean => !body.safeParse({}).success;

/** Returns the body of a request. A form cannot contain a list. */
function requestBody(
  input: Api<never>["input"],
  schema: Json,
  { properties = {} }: Json,
  example: unknown,
  required: boolean,
): Json {
  const hasList = Object.values(properties as Readonly<Record<string, Json>>).some(({ type }) => type === "array");
  if (input === "json" || hasList) return { required, content: content(["application/json"], schema, example) };
  const types = ["application/json", "application/x-www-form-urlencoded", "multipart/form-data"];
  return { content: content(types, schema, example) };
}

/** Returns the content of a body in these media types. The example is in JSON. */
export const content = (types: readonly string[], schema: Json, example?: unknown): Json =>
  Object.fromEntries(
    types.map(type => [type, { schema, ...(type === "application/json" && example !== undefined && { example }) }]),
  );

function parameters(
  place: "path" | "query" | "header",
  schema: z.ZodType | undefined,
  example: Readonly<Record<string, string>> | undefined,
  schemas: SchemaWriter,
): Json[] {
  if (schema === undefined) return [];
  const { properties = {}, required = [] } = schemas.resolve(schemas.write(schema, "input")) as {
    properties?: Record<string, Json>;
    required?: readonly string[];
  };
  return Object.entries(properties).map(([name, { description, ...rest }]) => {
    const text = example?.[name];
    const shown = text !== undefined && rest.type === "integer" ? Number(text) : text;
    return {
      name,
      in: place,
      ...(required.includes(name) && { required: true }),
      ...(description === undefined ? {} : { description }),
      schema: rest,
      ...(shown !== undefined && { example: shown }),
    };
  });
}

/** Returns those of the route: routes of one endpoint may differ in them. */
const pathParameters = ({ template }: RouteParts, all: readonly Json[]): Json[] =>
  all.filter(({ name }) => template.includes(`{${String(name)}}`)).map(parameter => ({ ...parameter, required: true }));
