import type { Json } from "./schemas.ts";

const requestIdText = { type: "string", pattern: "^[A-Za-z0-9._-]{1,64}$" };

/** The request header with which a caller names a call. */
export const requestIdParameter: Json = {
  name: "x-request-id",
  in: "header",
  description: "Names the call in the response and in every log line. By default the service's own id.",
  schema: requestIdText,
};

/** The headers of all responses by component. */
const responseHeaders: Readonly<Record<string, Json>> = {
  requestId: {
    description: "Names the call in every log line. Report it with a problem.",
    schema: { type: "string" },
    example: "6f1c0a52-3d0e-4a53-9d0c-2f0f4f5b7f5e",
  },
  ignoredFields: {
    description:
      "Fields of the body that the service does not know and ignored: at most 20 paths, percent-encoded, joined by commas.",
    schema: { type: "string" },
    example: "recipient.nickname",
  },
  idempotentReplayed: {
    description: "Only if an earlier call with the same `Idempotency-Key` created the resource: `true`.",
    schema: { type: "string", const: "true" },
    example: "true",
  },
  location: {
    description: "URL of the new resource.",
    schema: { type: "string" },
    example: "http://127.0.0.1:7071/v2/credential-requests/7c9e6679-7425-40de-944b-e07fc1f90ae7",
  },
  link: {
    description: 'Only if more entries follow: the URL of the next page, as `<url>; rel="next"`.',
    schema: { type: "string" },
    example: '<http://127.0.0.1:7071/v2/credential-requests?%24skiptoken=2026-01-31>; rel="next"',
  },
  setCookie: {
    description:
      "The session cookie `__Host-Service-Session`, with `Path=/`, `HttpOnly`, `Secure` and `SameSite=Strict`. A logout deletes it.",
    schema: { type: "string" },
    example: "__Host-Service-Session=c2Vzc2lvbg; Path=/; HttpOnly; Secure; SameSite=Strict",
  },
  retryAfter: {
    description: "Seconds until a retry is useful. A 409 has it only if a retry can succeed.",
    schema: { type: "integer", minimum: 1 },
    example: 30,
  },
};

/** Returns the headers that the document refers to. */
export const usedHeaders = (text: string): Readonly<Record<string, Json>> =>
  Object.fromEntries(
    Object.entries(responseHeaders).filter(([name]) => text.includes(`#/components/headers/${name}"`)),
  );
