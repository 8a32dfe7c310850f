import type * as z from "zod";
import { Fault, type FaultKind } from "../../lib/fault.ts";
import type { Api } from "../../lib/http/api.ts";
import type { Access, Endpoint } from "../../lib/http/endpoint.ts";
import { httpFunctions } from "../../lib/http/http-functions.ts";
import type { RouteParts } from "../../lib/http/route.ts";
import { version } from "../../lib/version.ts";
import { createSchemaWriter, type SchemaWriter } from "./openapi-schemas.ts";

type Json = Readonly<Record<string, unknown>>;
type AnyEndpoint = Omit<Endpoint<never>, "run">;
type AnyApi = Api<never>;

export interface DocumentOptions {
  /** Leading path segments of the API (decision G2). */
  readonly prefix: string;
  /** Body of every refusal. */
  readonly errorBody: z.ZodType;
}

/** The OpenAPI 3.1 document of an API, from its endpoints alone. */
export function openapiDocument(api: AnyApi, { prefix, errorBody }: DocumentOptions): Json {
  const schemas = createSchemaWriter();
  const refusals = refusalsOf(api);
  const error = schemas.write(errorBody, "output");
  const paths: Record<string, Record<string, Json>> = {};
  for (const { name, template, parts, endpoint } of httpFunctions(api, prefix)) {
    for (const [index, part] of parts.entries()) {
      const { method } = part;
      const operationId = index === 0 ? name : `${name}By${method}`;
      const made = operation(endpoint, { part, operationId, api, schemas, refusals });
      paths[`/${template}`] = { ...paths[`/${template}`], [method.toLowerCase()]: made };
    }
  }
  const accesses = new Set(Object.values(api.endpoints).map(({ access }) => access));
  return {
    openapi: "3.1.0",
    info: { title: api.title, version },
    servers: [
      {
        url: "{base}",
        variables: { base: { default: "http://127.0.0.1:7071", description: "Address of the deployment." } },
      },
    ],
    paths,
    components: {
      schemas: schemas.components,
      responses: Object.fromEntries(refusals.map(({ name, response }) => [name, response(error)])),
      parameters: { requestId },
      headers,
      securitySchemes: Object.fromEntries([...accesses].flatMap(access => Object.entries(schemes[access]))),
    },
  };
}

interface Told {
  readonly part: RouteParts;
  readonly operationId: string;
  readonly api: AnyApi;
  readonly schemas: SchemaWriter;
  readonly refusals: readonly Refusal[];
}

function operation(endpoint: AnyEndpoint, { part, operationId, api, schemas, refusals }: Told): Json {
  const { summary, access, params, query, answers } = endpoint;
  const { input } = api;
  // Fields of a form are those of the query where the method has no body (decision G4).
  const inQuery = input === "fields" && part.method !== "POST";
  const body = inQuery ? undefined : endpoint.body;
  const namesIgnored = input === "json" && body !== undefined;
  const ignorable = namesIgnored ? { "x-ignored-fields": ref("headers", "ignoredFields") } : {};
  const successes = Object.entries(answers).map(([status, { description, schema }]) => [
    status,
    {
      description,
      headers: { ...everyAnswer, ...ignorable },
      ...(schema && { content: { "application/json": { schema: schemas.write(schema, "output") } } }),
    },
  ]);
  const refused = refusals
    .filter(refusal => refusal.meets(operationOf(api, endpoint, part.method)))
    .map(({ status, name }) => [status, ref("responses", name)]);
  return {
    operationId,
    summary,
    security: Object.keys(schemes[access]).map(scheme => ({ [scheme]: [] })),
    parameters: [
      ...pathParameters(part, params, schemas),
      ...parameters("query", query, schemas),
      ...parameters("query", inQuery ? endpoint.body : undefined, schemas),
      ...parameters("header", endpoint.headers, schemas),
      ref("parameters", "requestId"),
    ],
    ...(body && {
      requestBody: { ...bodyRules[input], content: content(bodyTypes[input], schemas.write(body, "input")) },
    }),
    responses: Object.fromEntries([...successes, ...refused]),
  };
}

const bodyRules = {
  json: {
    required: true,
    description:
      "`null` in an optional field is as if absent. Unknown fields are ignored, and named in `x-ignored-fields`.",
  },
  fields: {
    required: false,
    description:
      "The same fields may stand in the query; where one is in both places, the body's counts. A field that is given twice in one place is refused. Unknown fields are ignored.",
  },
};

const bodyTypes = {
  json: ["application/json"],
  fields: ["application/x-www-form-urlencoded", "multipart/form-data", "application/json"],
} as const;

const content = (types: readonly string[], schema: Json): Json =>
  Object.fromEntries(types.map(type => [type, { schema }]));

function parameters(place: "path" | "query" | "header", schema: z.ZodType | undefined, schemas: SchemaWriter): Json[] {
  if (schema === undefined) return [];
  const { properties = {}, required = [] } = schemas.write(schema, "input") as {
    properties?: Record<string, Json>;
    required?: readonly string[];
  };
  return Object.entries(properties).map(([name, { description, ...rest }]) => ({
    name,
    in: place,
    required: required.includes(name),
    ...(description === undefined ? {} : { description }),
    schema: rest,
  }));
}

/** Those of this route: routes of one endpoint may differ in them. */
const pathParameters = ({ segments }: RouteParts, schema: z.ZodType | undefined, schemas: SchemaWriter): Json[] =>
  parameters("path", schema, schemas)
    .filter(({ name }) => segments.includes(`{${String(name)}}`))
    .map(parameter => ({ ...parameter, required: true }));

const ref = (kind: string, name: string): Json => ({ $ref: `#/components/${kind}/${name}` });

const everyAnswer = { "x-request-id": ref("headers", "requestId") };

const requestIdText = { type: "string", pattern: "^[A-Za-z0-9._-]{1,64}$" };

const requestId: Json = {
  name: "x-request-id",
  in: "header",
  description: "Names the call in the answer and in every log line. By default the service's own.",
  schema: requestIdText,
};

const headers: Json = {
  requestId: { description: "Names the call in every log line.", schema: { type: "string" } },
  ignoredFields: {
    description:
      "Fields of the body that the service does not know and has ignored: at most 20 paths, percent-encoded, joined by commas.",
    schema: { type: "string" },
  },
  retryAfter: { description: "Seconds until another try makes sense.", schema: { type: "integer", minimum: 1 } },
  wwwAuthenticate: { description: "The scheme that is asked for.", schema: { type: "string" } },
};

const sessionSchemes: Record<string, Json> = {
  session: { type: "apiKey", in: "cookie", name: "__Host-Service-Session", description: "Set by a login." },
  sessionHeader: {
    type: "apiKey",
    in: "header",
    name: "X-Service-Session",
    description: "The session that a login answered; it counts before the cookie.",
  },
};

const schemes: Record<Access, Record<string, Json>> = {
  open: {},
  caller: {
    bearer: {
      type: "http",
      scheme: "bearer",
      description: "A token of the customer's tenant that carries the service's role, or a static API token.",
    },
  },
  session: sessionSchemes,
  untouched_session: sessionSchemes,
};

/** One method of an endpoint. */
interface Operation {
  readonly endpoint: AnyEndpoint;
  readonly readsBody: boolean;
}

/** The operation of a route. Fields of a form are read from the body of every POST (decision G4). */
const operationOf = ({ input }: AnyApi, endpoint: AnyEndpoint, method: string): Operation => ({
  endpoint,
  readsBody: input === "fields" ? method === "POST" : endpoint.body !== undefined,
});

type Meets = (operation: Operation) => boolean;

const always: Meets = () => true;
const readsBody: Meets = operation => operation.readsBody;
/** Only where the endpoint lists it. */
const listed: Meets = () => false;

/** What each kind of refusal means, and which operations can meet it whatever they do. */
const kinds: Record<FaultKind, { text: string; meets: Meets }> = {
  invalid: { text: "The request is not valid. Every wrong field is named.", meets: always },
  unauthenticated: { text: "No valid credentials.", meets: ({ endpoint }) => endpoint.access !== "open" },
  forbidden: { text: "The caller is not allowed to make this call, or made it around the proxy.", meets: always },
  not_found: { text: "The path names nothing that exists.", meets: ({ endpoint }) => endpoint.params !== undefined },
  conflict: { text: "The present state does not allow it.", meets: listed },
  length_required: { text: "The body was sent chunked; send it with Content-Length.", meets: readsBody },
  too_large: { text: "The body is too large, or has too many fields.", meets: readsBody },
  unsupported_media: { text: "The body has another media type.", meets: readsBody },
  throttled: { text: "Too many attempts. Try again later.", meets: listed },
  delivery_refused: { text: "The delivery service refused the order.", meets: listed },
  idp_refused: { text: "An identity provider refused a credential.", meets: listed },
  internal: { text: "A failure of the service.", meets: always },
  unavailable: { text: "A part that the service needs does not answer. Try again later.", meets: always },
};

interface Refusal {
  readonly status: string;
  /** Of its component. */
  readonly name: string;
  meets(operation: Operation): boolean;
  response(error: Json): Json;
}

/** Returns the API's refusals by status: kinds that share one share a response. */
function refusalsOf(api: AnyApi): Refusal[] {
  const operations = Object.values(api.endpoints).flatMap(endpoint =>
    endpoint.routes.map(route => operationOf(api, endpoint, route.split(" ")[0] ?? "")),
  );
  const meets = (kind: FaultKind, operation: Operation): boolean =>
    kinds[kind].meets(operation) || operation.endpoint.refusals.includes(kind);
  const met = (Object.keys(kinds) as FaultKind[]).filter(kind => operations.some(operation => meets(kind, operation)));
  const byStatus = Map.groupBy(met, kind => api.refuse(new Fault(kind, "")).status);
  return [...byStatus]
    .sort(([a], [b]) => a - b)
    .map(([status, ofStatus]): Refusal => {
      const { headers: sent = {} } = api.refuse(new Fault(ofStatus[0] ?? "internal", "", { retryAfter: 1 }));
      const own = {
        ...("www-authenticate" in sent ? { "www-authenticate": ref("headers", "wwwAuthenticate") } : {}),
        ...([409, 429, 503].includes(status) ? { "retry-after": ref("headers", "retryAfter") } : {}),
      };
      const text = ofStatus.map(kind => kinds[kind].text).join(" ");
      return {
        status: String(status),
        name: `Refused${status}`,
        meets: operation => ofStatus.some(kind => meets(kind, operation)),
        response: schema => refusal(text, { ...everyAnswer, ...own }, schema),
      };
    });
}

const refusal = (description: string, sent: Json, schema: Json): Json => ({
  description,
  headers: sent,
  content: content(["application/json"], schema),
});
