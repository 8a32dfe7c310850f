import type * as z from "zod";
import type { Api } from "../../../lib/platform/http/api.ts";
import { version } from "../../../lib/platform/settings/deployment-settings.ts";
import { requestIdParameter, usedHeaders } from "./headers.ts";
import { type Examples, writeOperation } from "./operation.ts";
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

/** Returns the OpenAPI 3.1 document of an API. Throws on a tag without a description. */
export function openapiDocument(
  api: Api<never>,
  { prefix, errorBody, text: { description, tags }, examples }: DocumentOptions,
) {
  const schemas = createSchemaWriter();
  const refusals = refusalsOf(api, schemas.write(errorBody, "output"));
  const paths: Record<string, Record<string, Json>> = {};
  for (const [name, endpoint] of Object.entries(api.endpoints)) {
    if (endpoint.tag !== undefined && !Object.hasOwn(tags, endpoint.tag))
      throw new Error(`The tag ${endpoint.tag} needs a description.`);
    for (const route of endpoint.routes) {
      const to = { prefix, input: api.input, schemas, examples, refusals: refusals.of };
      const { path, method, operation } = writeOperation({ name, endpoint, route, ...to });
      paths[path] = { ...paths[path], [method]: operation };
    }
  }
  const accesses = new Set(Object.values(api.endpoints).map(({ access }) => access));
  const components = {
    schemas: schemas.components,
    responses: refusals.components,
    parameters: { requestId: requestIdParameter },
    securitySchemes: Object.fromEntries([...accesses].flatMap(access => Object.entries(schemes[access]))),
  };
  return {
    openapi: "3.1.0",
    info: {
      title: api.title,
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
    components: { ...components, headers: usedHeaders(JSON.stringify({ paths, components })) },
  };
}
