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
  for (const [path, { parameters: ofPath, ...methods }] of Object.entries(resolved.paths)) {
    for (const operation of Object.values(methods))
      Object.assign(operation, {
        parameters: [...(operation.parameters ?? []), ...(ofPath as unknown as readonly object[])],
        security: operation.security ?? security,
      });
    Object.assign(resolved.paths, { [path]: methods });
  }
  expect(resolved).toEqual({ ...(resolve(whole, whole) as Document), components: undefined });
  for (const [kind, named] of Object.entries(whole.components))
    expect(resolve(components[kind], { components })).toMatchObject(resolve(named, whole) as object);
});

it.each(Object.entries(typeFiles(openapiFiles({}))))("%s has what `npm run openapi` writes", (path, text) => {
  expect(readFileSync(path, "utf8")).toBe(text);
});

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
        const shared = ["4XX", "5XX"].map(name => [name, { $ref: `#/components/responses/Refused${name}` }]);
        expect(responses, name).toMatchObject(Object.fromEntries(shared));
        expect(responses, name).not.toHaveProperty("default");
      }
      const listed = (...statuses: readonly number[]) =>
        expect.stringMatching(new RegExp(`^${statuses.map(status => `- ${status}: .+`).join("\\n")}$`));
      expect(document.components).toMatchObject({
        responses: {
          Refused4XX: { description: listed(400, 401, 403, 411, 413, 415), headers: { "www-authenticate": {} } },
          Refused5XX: { description: listed(500, 503), headers: { "retry-after": {} } },
        },
        schemas: { ErrorResponse: { required: refused } },
      });
    });

    it("places the paths where a deployment does", () => {
      const moved = openapiFiles({ [pathSetting]: "/fido/keys/" })[path];
      const places = Object.keys(document.paths).map(at => `/fido/keys${at.slice(prefix.length)}`);
      expect(Object.keys(moved.paths)).toEqual(places);
      expect(() => openapiFiles({ [pathSetting]: "a b" })).toThrow(`${pathSetting}: must be path segments`);
    });
  },
);

describe("the document of an API", () => {
  const documentOf = (part: object) => {
    const item = z.object({ size: z.int().default(1) }).meta({ id: "Item" });
    const putItem = endpoint({
      routes: ["POST /items"],
      access: "open",
      tag: "Items",
      summary: "Put",
      description: "Puts an item.",
      answers: { 200: { description: "Done.", schema: item } },
      handle: () => noContent,
    });
    const api = { ...client, endpoints: { putItem: { ...putItem, ...part } } } as unknown as Api<never>;
    return openapiDocument(api, {
      prefix: "core",
      errorBody: z.object({ error: z.string() }),
      text: { description: "A sample.", tags: { Items: "Things." } },
      examples: { putItem: { status: 200 } },
    });
  };

  it.each([
    ["a tag", { tag: undefined }, "putItem needs a tag, a description and an example."],
    ["a description", { description: undefined }, "putItem needs a tag, a description and an example."],
    ["a described tag", { tag: "Others" }, "The tag Others needs a description."],
    [
      "names of its own for what callers send and what they get",
      { body: z.object({ size: z.int().default(1) }).meta({ id: "Item" }) },
      "two different schemas have the id Item",
    ],
  ])("is refused for an endpoint without %s", (_, part, message) => {
    expect(() => documentOf({})).not.toThrow();
    expect(() => documentOf(part)).toThrow(message);
  });
});
