import { randomUUID } from "node:crypto";
import type { HttpAnswer } from "../peer.ts";

/** A refusal of Graph, in its error format. */
export class GraphError extends Error {
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/** Runs `work`, and responds to its refusal as Graph does. @param clientRequestId the caller's id, which is returned to it */
export async function asGraph(
  clientRequestId: string | undefined,
  work: () => Promise<HttpAnswer | undefined>,
): Promise<HttpAnswer | undefined> {
  const requestId = randomUUID();
  const ids = { "request-id": requestId, "client-request-id": clientRequestId ?? requestId };
  try {
    const answer = await work();
    return answer && { ...answer, headers: { ...answer.headers, ...ids } };
  } catch (error) {
    if (!(error instanceof GraphError)) throw error;
    const { status, code, message } = error;
    const innerError = { date: new Date().toISOString().slice(0, 19), ...ids };
    return { status, headers: ids, body: { error: { code, message, innerError } } };
  }
}

export const badRequest = (message: string) => new GraphError(400, "BadRequest", message);
