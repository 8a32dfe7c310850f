import { type Fields, withLogFields } from "../log.ts";
import type { Call, Reply } from "./call.ts";

export interface ResponseOptions {
  /** Whether to send `strict-transport-security`. Only in Azure, where clients connect with TLS. */
  readonly strictTransport: boolean;
  /** Log fields of the call besides its ids. */
  readonly fields?: Fields;
}

/** Runs `work`, which returns the reply, and adds the common headers to it. Log lines of `work` have the request id (G7). */
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
