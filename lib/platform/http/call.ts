import type { Fault, FaultKind } from "../fault.ts";
import { withLogFields } from "../log.ts";

/** An HTTP request, independent of the platform's types. */
export interface Call {
  readonly method: string;
  /**
   * Do not read parameters from the path: the host has decoded it and only partly encoded it again. Read `params`
   * instead. The query is as sent, including repeated names.
   */
  readonly url: URL;
  /** The path parameters, decoded once by the host. `%2F` and bytes that are not UTF-8 stay encoded. */
  readonly params: Readonly<Record<string, string>>;
  /** Names are found in any letter case. */
  readonly headers: Pick<Headers, "get">;
  readonly invocationId: string;
  readonly body: Uint8Array;
}

export interface Cookie {
  readonly name: string;
  readonly value: string;
  readonly path: string;
  readonly httpOnly: boolean;
  readonly secure: boolean;
  readonly sameSite: "Strict" | "Lax" | "None";
  /** In seconds; 0 deletes the cookie. */
  readonly maxAge?: number;
}

/** An HTTP response. `body` is sent as JSON, `csv` as CSV; without both, the response has no body. */
export interface Reply {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly csv?: string;
  readonly cookies?: readonly Cookie[];
}

export const ok = (body: unknown): Reply => ({ status: 200, body });
export const noContent: Reply = { status: 204 };

export interface ResponseOptions {
  /** Whether to send `strict-transport-security`. Only in Azure, where clients connect with TLS. */
  readonly strictTransport: boolean;
}

/**
 * Runs `work`, which returns the reply, and adds the headers of every response (G7). Log lines of `work` have the
 * request id: the caller's `x-request-id` if it is safe in log lines and headers, else the invocation id.
 */
export function respond(
  { headers, invocationId }: Call,
  { strictTransport }: ResponseOptions,
  work: (requestId: string) => Promise<Reply>,
): Promise<Reply> {
  const requested = headers.get("x-request-id") ?? "";
  const requestId = /^[A-Za-z0-9._-]{1,64}$/.test(requested) ? requested : invocationId;
  return withLogFields({ requestId, invocationId }, async () => {
    const reply = await work(requestId);
    const common = {
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
      "referrer-policy": "no-referrer",
      "x-request-id": requestId,
      ...(strictTransport && { "strict-transport-security": "max-age=31536000; includeSubDomains" }),
    };
    return { ...reply, headers: { ...common, ...reply.headers } };
  });
}

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

/** Returns the header `Retry-After` of a refusal, in whole seconds; no header if the Fault has no such time. */
export const retryAfterHeader = ({ retryAfterSeconds }: Fault): Readonly<Record<string, string>> =>
  retryAfterSeconds === undefined ? {} : { "retry-after": String(Math.max(1, Math.ceil(retryAfterSeconds))) };
