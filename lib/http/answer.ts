import { type Fields, withLogFields } from "../log.ts";
import type { Call, Reply } from "./call.ts";

export interface AnswerOptions {
  /** In Azure, where TLS ends before the app (decision G7). */
  readonly strictTransport: boolean;
  /** What every log line of the call carries besides its ids. */
  readonly fields?: Fields;
}

/** What every answer carries, and every log line on the way to it (decision G7). A header that the reply sets itself wins. */
export function answerCall(
  call: Call,
  { strictTransport, fields = {} }: AnswerOptions,
  work: (requestId: string) => Promise<Reply>,
): Promise<Reply> {
  const requestId = requestIdOf(call);
  return withLogFields({ requestId, invocationId: call.invocationId, ...fields }, async () => {
    const reply = await work(requestId);
    return { ...reply, headers: { ...commonHeaders(requestId, strictTransport), ...reply.headers } };
  });
}

/** The caller's id where it can stand in a log line and a header, else the invocation's (decision G7). */
const requestIdOf = (call: Call): string => {
  const given = call.headers.get("x-request-id") ?? "";
  return /^[A-Za-z0-9._-]{1,64}$/.test(given) ? given : call.invocationId;
};

const commonHeaders = (requestId: string, strictTransport: boolean): Record<string, string> => ({
  "cache-control": "no-store",
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "x-request-id": requestId,
  ...(strictTransport ? { "strict-transport-security": "max-age=31536000; includeSubDomains" } : {}),
});
