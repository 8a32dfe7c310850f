import { randomUUID } from "node:crypto";
import type { HttpAnswer, HttpCall } from "../peer.ts";
import { PeerRefusal, refusing } from "../refusal.ts";

/** Returns a refusal of Graph. */
export const graphRefusal = (status: number, code: string, message: string): PeerRefusal =>
  new PeerRefusal(message, { status, body: { error: { code, message } } });

export const badRequest = (message: string) => graphRefusal(400, "BadRequest", message);

/** Runs `work`, and adds the ids of the call to its response, and to the body of its refusal, as Graph does. */
export async function asGraph(
  { headers }: HttpCall,
  work: () => Promise<HttpAnswer | undefined>,
): Promise<HttpAnswer | undefined> {
  const requestId = randomUUID();
  const ids = { "request-id": requestId, "client-request-id": String(headers["client-request-id"] ?? requestId) };
  const answer = await refusing(work);
  if (answer === undefined || answer.status < 400) return answer && { ...answer, headers: ids };
  const { error } = answer.body as { readonly error: object };
  const innerError = { date: new Date().toISOString().slice(0, 19), ...ids };
  return { ...answer, headers: ids, body: { error: { ...error, innerError } } };
}
