import { readFileSync } from "node:fs";
import { Validator } from "@seriousme/openapi-schema-validator";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { client, core } from "../../../functions/auth/routes.ts";
import { connector } from "../../../functions/connector/routes.ts";
import type { Api } from "../../../lib/platform/http/api.ts";
import { noContent } from "../../../lib/platform/http/call.ts";
import { endpoint } from "../../../lib/platform/http/endpoint.ts";
import { jsonText } from "../../../local/generate/json-text.ts";
import { openapiDocument } from "../../../local/generate/openapi/document.ts";
import { openapiFiles, typeFiles } from "../../../local/generate/openapi/files.ts";
import { shareRepeated } from "../../../local/generate/openapi/share.ts";
import { resolve } from "./document.ts";

interface Operation {
  readonly operationId: string;
  readonly deprecated?: boolean;
  readonly security: readonly object[];
  readonly parameters: readonly Readonly<Record<string, unknown>>[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: object }>> };
  readonly responses: Readonly<Record<string, { readonly $ref?: string; readonly headers?: object }>>;
}
interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: Readonly<Record<string, Readonly<Record<string, object>>>>;
}

const ofConnector = { refused: ["error_code", "error_message"], path: "CONNECTOR_PATH" } as const;
const apis = {
  "docs/openapi/core.json": { api: core, prefix: "/core", refused: ["error"], path: "CORE_PATH" },
  "docs/openapi/client.json": { api: client, prefix: "/client", refused: ["error"], path: "CLIENT_PATH" },
  "docs/openapi/connector.json": { api: connector, prefix: "", ...ofConnector },
} as const;
const operationsOf = ({ paths }: Document) =>
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ route: `${method.toUpperCase()} ${path}`, ...operation })),
  );

it("every document has its tests", () => {
  expect(Object.keys(openapiFiles({})).sort()).toEqual(Object.keys(apis).sort());
});

/** A document as the endpoints give it, before repeated parts become components. */
const written = (path: keyof typeof apis): Document => JSON.parse(JSON.stringify(openapiFiles({})[path]));
const paths = Object.keys(apis) as (keyof typeof apis)[];

it.each(paths)("%s is what the endpoints say, with repeated parts as components; `npm run openapi` writes it", path => {
  const text = readFileSync(path, "utf8");
  const whole = written(path);
  expect(text).toBe(jsonText(shareRepeated(whole)));
  const { components, security, ...read } = JSON.parse(text) as Document & { readonly security?: object };
  const resolved = resolve(read, { components }) as Document;
  for (const operation of Object.values(resolved.paths).flatMap(methods => Object.values(methods)))
    Object.assign(operation, { security: operation.security ?? security });
  expect(resolved).toEqual({ ...(resolve(whole, whole) as Document), components: undefined });
  for (const [kind, named] of Object.entries(whole.components))
    expect(resolve(components[kind], { components })).toMatchObject(resolve(named, whole) as object);
});

it.each(Object.entries(typeFiles(openapiFiles({}))))(
  "%s has the types that `npm run openapi` writes",
  (path, types) => {
    expect(readFileSync(path, "utf8")).toBe(types);
  },
);

describe.each(paths.map(path => [path, apis[path]] as const))(
  "%s",
  (path, { api, prefix, refused, path: pathSetting }) => {
    const document = written(path);

    it("is valid OpenAPI 3.1, and every reference in it leads somewhere", async () => {
      const validator = new Validator();
      const document = JSON.parse(readFileSync(path, "utf8"));
      expect(await validator.validate(structuredClone(document))).toEqual({ valid: true });
      expect(validator.version).toBe("3.1");
      const references = [...JSON.stringify(document).matchAll(/"\$ref":"#\/([^"]+)"/g)].map(
        ([, pointer = ""]) => pointer,
      );
      expect(references.length).toBeGreaterThan(10);
      for (const pointer of references) {
        expect(
          pointer.split("/").reduce<unknown>((at, key) => (at as Record<string, unknown>)?.[key], document),
          pointer,
        ).toBeTypeOf("object");
      }
    });

    it("has no integer with the range of safe integers as its bounds", () => {
      expect(JSON.stringify(document)).not.toContain(String(Number.MAX_SAFE_INTEGER));
    });

    it("names exactly the parameters of each path", () => {
      for (const { route, parameters } of operationsOf(document)) {
        const named = [...route.matchAll(/\{(\w+)\}/g)].map(([, name]) => name).sort();
        const described = parameters.filter(parameter => parameter.in === "path").map(({ name }) => name);
        expect(described.sort(), route).toEqual(named);
      }
    });

    it("has every route of its API, each once, and no other", () => {
      const routes = Object.values<{ readonly routes: readonly string[] }>(api.endpoints).flatMap(({ routes }) =>
        routes.map(route => route.replace(" /", ` ${prefix}/`)),
      );
      expect(routes.length).toBeGreaterThan(0);
      expect(
        operationsOf(document)
          .map(({ route }) => route)
          .sort(),
      ).toEqual([...routes].sort());
      const ids = operationsOf(document).map(({ operationId }) => operationId);
      expect(new Set(ids).size).toBe(ids.length);
    });

    it("requires a token or a session for each endpoint that does, and documents the refusal", () => {
      const byOperation = new Map(operationsOf(document).map(operation => [operation.operationId, operation]));
      const session = [{ session: [] }, { sessionHeader: [] }];
      const asked = {
        caller: [{ bearer: [] }],
        session,
        session_without_refresh: session,
        optional_session: [...session, {}],
        open: [],
      };
      for (const [name, { access }] of Object.entries<{ readonly access: keyof typeof asked }>(api.endpoints)) {
        const { security, responses } = byOperation.get(name) ?? { security: undefined, responses: {} };
        expect(security, name).toEqual(asked[access]);
        expect(responses, name).toMatchObject({ 400: {}, 403: {}, 500: {}, 503: {} });
        expect(responses, name).not.toHaveProperty("default");
        if (access !== "open") {
          expect(responses, name).toMatchObject({ 401: { $ref: "#/components/responses/Refused401" }, 403: {} });
        }
      }
      expect(document.components).toMatchObject({
        responses: { Refused401: {}, Refused503: { headers: { "retry-after": {} } } },
        schemas: { ErrorResponse: { required: refused } },
      });
    });

    it("places the paths where a deployment does", () => {
      const moved = openapiFiles({ [pathSetting]: "/fido/keys/" })[path];
      const places = Object.keys(document.paths).map(at => `/fido/keys${at.slice(prefix.length)}`);
      expect(Object.keys(moved.paths)).toEqual(places);
    });
  },
);

it("says that a password change requires newpass", () => {
  const { paths } = written("docs/openapi/client.json");
  const { get, post } = paths["/client/password"] ?? {};
  expect(get?.parameters).toContainEqual(expect.objectContaining({ name: "newpass", in: "query", required: true }));
  const schemas = Object.values(post?.requestBody?.content ?? {}).map(({ schema }) => schema);
  expect(schemas).toHaveLength(3);
  for (const schema of schemas) expect(schema).toMatchObject({ required: ["newpass"] });
});

describe("the refusals of an operation", () => {
  const always = ["400", "403", "500", "503"];
  const ofBody = ["411", "413", "415"];
  const token = [...always, "401"];

  it.each([
    ["client", "POST /client/login", [...always, ...ofBody, "401", "429"]],
    ["client", "GET /client/login", [...always, "401", "429"]],
    ["client", "POST /client/authenticate", [...always, ...ofBody, "401", "429"]],
    ["client", "GET /client/status", token],
    ["client", "POST /client/logout", [...token, ...ofBody]],
    ["core", "GET /core/users", token],
    ["core", "POST /core/users", [...token, ...ofBody, "409"]],
    ["core", "POST /core/users/{user}/delete", [...token, ...ofBody, "404"]],
    ["core", "DELETE /core/users/{user}", [...token, "404"]],
    ["connector", "GET /v2/credential-requests", token],
    ["connector", "POST /v2/credential-requests", [...token, ...ofBody, "409"]],
    ["connector", "POST /v2/credential-requests/{credential_request_id}/cancel", [...token, "404", "409"]],
    ["connector", "POST /v2/credential-requests/{credential_request_id}/resend-pin", [...token, "404", "409", "429"]],
  ])("are all named: %s, %s", (name, route, statuses) => {
    const document = JSON.parse(readFileSync(`docs/openapi/${name}.json`, "utf8")) as Document;
    const operation = operationsOf(document).find(each => each.route === route);
    expect(Object.keys(operation?.responses ?? {}).filter(status => status >= "400")).toEqual(statuses.toSorted());
  });

  it("have examples of their own API: the connector knows no users, names or passwords", () => {
    const { components } = JSON.parse(readFileSync("docs/openapi/connector.json", "utf8")) as Document;
    expect(Object.keys(components.responses ?? {}).length).toBeGreaterThan(5);
    expect(JSON.stringify(components.responses)).not.toMatch(/such user|name is taken|password/);
  });
});

describe("the document of an API", () => {
  const item = z.object({ size: z.int().meta({ description: "In cm." }) }).meta({ id: "Item" });
  const sample = (input: Api<object>["input"], body: z.ZodType = item): Api<object> => ({
    name: "core",
    title: "Sample",
    input,
    bodyLimitBytes: 1_048_576,
    refuse: fault => ({ status: fault.kind === "invalid" ? 400 : 418 }),
    endpoints: {
      putItem: endpoint({
        routes: ["POST /items/{id}", "POST /things/{id}", "DELETE /items/{id}"],
        access: "open",
        tag: "Items",
        summary: "Put",
        description: "Puts an item.",
        params: z.object({ id: z.string().meta({ description: "Which." }) }),
        query: z.object({ force: z.enum(["true"]).optional() }),
        body: z.object({ item: body, when: z.string().transform(Number) }),
        answers: { 200: { description: "Done.", schema: z.array(body) }, 204: { description: "Nothing." } },
        handle: () => noContent,
      }),
    },
  });
  const error = z.object({ error: z.string() });
  const documentOf = (api: Api<object>) =>
    openapiDocument(api, {
      prefix: "core",
      errorBody: error,
      text: { description: "A sample.", tags: { Items: "Things." } },
      examples: { putItem: { params: { id: "1" }, body: { item: { size: 1 }, when: "2" }, status: 204 } },
    }) as unknown as Document;

  it("shows callers what they send, not what becomes of it", () => {
    const operation = operationsOf(documentOf(sample("json")))[0];
    expect(operation?.requestBody?.content).toEqual({
      "application/json": {
        example: { item: { size: 1 }, when: "2" },
        schema: {
          type: "object",
          properties: { item: { $ref: "#/components/schemas/Item" }, when: { type: "string" } },
          required: ["item", "when"],
        },
      },
    });
    expect(operation?.parameters).toMatchObject([
      { name: "id", in: "path", required: true, description: "Which.", schema: { type: "string" } },
      { name: "force", in: "query", required: false },
      { $ref: "#/components/parameters/requestId" },
    ]);
  });

  it("gives every method of every route an operation of its own", () => {
    expect(operationsOf(documentOf(sample("json"))).map(({ route, operationId }) => [route, operationId])).toEqual([
      ["POST /core/items/{id}", "putItem"],
      ["DELETE /core/items/{id}", "putItemByDelete"],
      ["POST /core/things/{id}", "putItemAtThings"],
    ]);
  });

  it("takes forms where the API does, and the fields in the query by methods without a body", () => {
    const [post, remove] = operationsOf(documentOf(sample("fields")));
    const types = Object.keys(post?.requestBody?.content ?? {});
    expect(types).toEqual(["application/json", "application/x-www-form-urlencoded", "multipart/form-data"]);
    expect(remove?.requestBody).toBeUndefined();
    expect(remove?.parameters.map(({ name, in: place }) => [name, place])).toEqual([
      ["id", "path"],
      ["force", "query"],
      ["item", "query"],
      ["when", "query"],
      [undefined, undefined],
    ]);
    expect(Object.keys(post?.responses[200]?.headers ?? {})).toEqual(["x-request-id"]);
  });

  it("says that the Core and connector APIs take bearer tokens, and the Client API sessions", () => {
    const schemes = paths.map(path => Object.keys(written(path).components.securitySchemes ?? {}));
    expect(schemes).toEqual([["bearer"], ["session", "sessionHeader"], ["bearer"]]);
  });

  it("marks every route but the first as a deprecated alias", () => {
    const aliases = operationsOf(documentOf(sample("json"))).map(({ route, deprecated }) => [route, deprecated]);
    expect(aliases).toEqual([
      ["POST /core/items/{id}", undefined],
      ["DELETE /core/items/{id}", true],
      ["POST /core/things/{id}", true],
    ]);
  });

  it("is refused for an endpoint without a tag, a description or an example", () => {
    const lacking = (part: object): Api<object> => {
      const api = sample("json");
      return { ...api, endpoints: { putItem: { ...api.endpoints.putItem, ...part } } } as Api<object>;
    };
    for (const part of [{ tag: undefined }, { description: undefined }])
      expect(() => documentOf(lacking(part))).toThrow("putItem needs a tag, a description and an example.");
    expect(() => documentOf(lacking({ tag: "Others" }))).toThrow("The tag Others needs a description.");
  });

  it("requires no token at an open endpoint", () => {
    const [operation] = operationsOf(documentOf(sample("json")));
    expect(operation?.security).toEqual([]);
    expect(documentOf(sample("json")).components.securitySchemes).toEqual({});
  });

  it("says which headers an answer carries", () => {
    const [operation] = operationsOf(documentOf(sample("json")));
    expect(Object.keys(operation?.responses[204]?.headers ?? {})).toEqual(["x-request-id", "x-ignored-fields"]);
  });

  it("is not made where callers send something else under a name than they get", () => {
    const sized = z.object({ size: z.int().default(1) }).meta({ id: "Sized" });
    expect(() => documentOf(sample("json", sized))).toThrow("two different schemas have the id Sized");
  });
});
