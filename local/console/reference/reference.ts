import { readFileSync } from "node:fs";
import type { HttpAnswer, HttpCall } from "../../../commands/http-exchange.ts";
import { openapiFiles } from "../../generate/openapi/files.ts";
import type { Tokens } from "../../start/tokens.ts";
import type { ApiHost } from "../api.ts";
import { forward } from "./forward.ts";
import { scalarScript } from "./scalar-script.ts";

interface ReferenceOptions {
  readonly tokens: Tokens;
  readonly host: () => ApiHost | undefined;
}

/** Scalar writes style elements and needs blobs for downloads. Nothing is loaded from another site. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data: blob:",
  "font-src 'self' data:",
  "connect-src 'self'",
  "worker-src 'self' blob:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

const file = (name: string, type: string): HttpAnswer => ({
  status: 200,
  headers: { "content-type": `${type}; charset=utf-8`, "content-security-policy": policy },
  body: readFileSync(new URL(name, import.meta.url)),
});

/** Returns the handler of the API reference under `/reference`: the page, its script, the documents with tokens, and a proxy. */
export function openReference({ tokens, host }: ReferenceOptions) {
  return async (call: HttpCall, gone: AbortSignal): Promise<HttpAnswer | undefined> => {
    const { path, method, headers } = call;
    if (path !== "/reference" && !path.startsWith("/reference/")) return undefined;
    if (method === "GET" && path === "/reference") return file("reference.html", "text/html");
    if (method === "GET" && path === "/reference/reference.js") return file("reference.js", "text/javascript");
    if (method === "GET" && path === "/reference/scalar.js") {
      return { status: 200, headers: { "content-type": "text/javascript; charset=utf-8" }, body: await scalarScript() };
    }
    // The rest contains tokens or uses them, so it is for the page alone.
    if ((headers["sec-fetch-site"] ?? "same-origin") !== "same-origin") return { status: 403 };
    const known = host();
    if (known === undefined) return { status: 503, body: { error: "The host has not started yet." } };
    if (path === "/reference/documents") return { status: 200, body: documents(known, tokens) };
    if (path === "/reference/proxy") return forward(call, known.address, gone);
    return undefined;
  };
}

/** Returns the OpenAPI documents with the address of the host, each with what the local system accepts as credentials. */
function documents({ address }: ApiHost, tokens: Tokens) {
  const files = openapiFiles(process.env);
  return (["connector", "core", "client"] as const).map(api => {
    const document = files[`docs/openapi/${api}.json`];
    const securitySchemes = api === "client" ? {} : { bearer: { token: tokens[api] } };
    return {
      title: document.info.title,
      slug: api,
      content: { ...document, servers: [{ url: address, description: "The local system." }] },
      authentication: { preferredSecurityScheme: Object.keys(securitySchemes)[0], securitySchemes },
    };
  });
}
