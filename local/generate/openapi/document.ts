import type * as z from "zod";
import type { Api } from "../../../lib/platform/http/api.ts";
import { version } from "../../../lib/platform/version.ts";
import { requestIdParameter, usedHeaders } from "./headers.ts";
import { type Examples, type WrittenOperation, writeOperation } from "./operation.ts";
import { refusalsOf } from "./refusals.ts";
import { createSchemaWriter, type Json } from "./schemas.ts";
import { schemes } from "./security.ts";

/** What a document says about a whole API. */
export interface ApiText {
  /** Markdown: purpose, authentication, conventions. */
  readonly description: string;
  /** Descriptions of the tags, in their order. */
  readonly tags: Readonly<Record<string, string>>;
}

interface DocumentOptions {
  /** Leading path segments of the API (decision G2). */
  readonly prefix: string;
  /** Body of every refusal. */
  readonly errorBody: z.ZodType;
  readonly text: ApiText;
  readonly examples: Examples;
}

/** Returns the OpenAPI 3.1 document of an API. */
export function openapiDocument(api: Api<never>, { prefix, errorBody, text, examples }: DocumentOptions): Json {
  const schemas = createSchemaWriter();
  const refusals = refusalsOf(api, schemas.write(errorBody, "output"));
  const operations = Object.entries(api.endpoints).flatMap(([name, endpoint]) =>
    endpoint.routes.map(route =>
      writeOperation({ name, endpoint, route, prefix }, { input: api.input, schemas, examples, refusals: refusals.of }),
    ),
  );
  const accesses = new Set(Object.values(api.endpoints).map(({ access }) => access));
  return assemble({ title: api.title, text }, operations, {
    schemas: schemas.components,
    responses: refusals.components,
    parameters: { requestId: requestIdParameter },
    securitySchemes: Object.fromEntries([...accesses].flatMap(access => Object.entries(schemes[access]))),
  });
}

/** Returns a document of these operations. Throws on a tag without a description. */
export function assemble(
  { title, text: { description, tags } }: { readonly title: string; readonly text: ApiText },
  operations: readonly WrittenOperation[],
  components: Json,
): Json {
  const paths: Record<string, Record<string, Json>> = {};
  for (const { path, method, operation } of operations) {
    paths[path] = { ...paths[path], [method]: operation };
    for (const tag of operation.tags as readonly string[])
      if (!Object.hasOwn(tags, tag)) throw new Error(`The tag ${tag} needs a description.`);
  }
  const headers = usedHeaders(JSON.stringify({ paths, components }));
  return {
    openapi: "3.1.0",
    info: {
      title,
      version,
      description,
      contact: { name: "The operator of the deployment" },
      license: { name: "Proprietary", identifier: "LicenseRef-Proprietary" },
    },
    servers: [
      {
        url: "{base}",
        variables: { base: { default: "http://127.0.0.1:7071", description: "Address of the deployment." } },
      },
    ],
    tags: Object.entries(tags).map(([name, description]) => ({ name, description })),
    paths,
    components: { ...components, headers },
  };
}
