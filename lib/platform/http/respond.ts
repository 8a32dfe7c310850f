import type { Fault, FaultKind } from "../fault.ts";
import { type Fields, withLogFields } from "../log.ts";
import type { Api } from "./api.ts";
import type { Call, Reply } from "./call.ts";
import { type Endpoint, responseHeaders } from "./endpoint.ts";

export interface ResponseOptions {
  /** Whether to send `strict-transport-security`. Only in Azure, where clients connect with TLS. */
  readonly strictTransport: boolean;
  /** Log fields of the call besides its ids. */
  readonly fields?: Fields;
}

/**
 * Runs `work`, which returns the reply, and adds the common headers to it. Log lines of `work` have the request id
 * (G7).
 */
export function respond(
  call: Call,
  { strictTransport, fields = {} }: ResponseOptions,
  work: (requestId: string) => Promise<Reply>,
): Promise<Reply> {
  const requestId = requestIdOf(call);
  return withLogFields({ requestId, invocationId: call.invocationId, ...fields }, async () => {
    const reply = await work(requestId);
    return { ...reply, headers: { ...commonHeaders(requestId, strictTransport), ...reply.headers } };
  });
}

/** Returns the caller's `x-request-id` if it is safe in log lines and headers, else the invocation id. */
const requestIdOf = (call: Call): string => {
  const requested = call.headers.get("x-request-id") ?? "";
  return /^[A-Za-z0-9._-]{1,64}$/.test(requested) ? requested : call.invocationId;
};

const commonHeaders = (requestId: string, strictTransport: boolean): Record<string, string> => ({
  "cache-control": "no-store",
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "x-request-id": requestId,
  ...(strictTransport ? { "strict-transport-security": "max-age=31536000; includeSubDomains" } : {}),
});

/** The HTTP status of each kind of Fault. Only the connector has others, for what peers refused (C1). */
export const faultStatus: Readonly<Record<FaultKind, number>> = {
  invalid: 400,
  unauthenticated: 401,
  forbidden: 403,
  not_found: 404,
  conflict: 409,
  length_required: 411,
  too_large: 413,
  unsupported_media: 415,
  throttled: 429,
  internal: 500,
  delivery_refused: 502,
  idp_refused: 502,
  unavailable: 503,
};

/**
 * Returns the header `Retry-After` of a refusal in whole seconds, at least 1; no header if the Fault has no such time.
 */
export const retryAfterHeader = ({ retryAfterSeconds }: Fault): Readonly<Record<string, string>> =>
  retryAfterSeconds === undefined ? {} : { "retry-after": String(Math.max(1, Math.ceil(retryAfterSeconds))) };

type AnyEndpoint = Omit<Endpoint<never>, "run">;

/**
 * Returns whether a method of an endpoint can answer with a kind of Fault, by its list of refusals or by the pipeline.
 */
export function canRefuse(
  input: Api<never>["input"],
  endpoint: AnyEndpoint,
  { method, kind }: { readonly method: string; readonly kind: FaultKind },
): boolean {
  if (endpoint.refusals.includes(kind)) return true;
  switch (kind) {
    case "invalid":
    case "forbidden":
    case "internal":
    case "unavailable":
      return true;
    case "unauthenticated":
      return endpoint.access !== "open";
    case "not_found":
      return endpoint.params !== undefined;
    case "length_required":
    case "too_large":
    case "unsupported_media":
      // Fields of a form are read from the body of every POST (G4).
      return input === "fields" ? method === "POST" : endpoint.body !== undefined;
    default:
      return false;
  }
}

/** Throws if an endpoint does not list the status or a header of its reply. */
export function requireListedReply({ answers }: AnyEndpoint, { status, headers = {}, csv, cookies = [] }: Reply): void {
  const listed = answers[status];
  if (listed === undefined) throw new Error(`The endpoint does not list the status ${status}.`);
  if (csv !== undefined && listed.csv !== true) throw new Error(`The endpoint does not list CSV for ${status}.`);
  const sent = [...Object.keys(headers), ...(cookies.length > 0 ? ["set-cookie"] : [])];
  const missing = responseHeaders.filter(name => sent.includes(name) && !listed.headers?.includes(name));
  if (missing.length > 0) throw new Error(`The endpoint does not list the headers ${missing.join(", ")} of ${status}.`);
}
