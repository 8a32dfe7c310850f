import type { HttpAnswer } from "../../commands/http-exchange.ts";

/** A refusal of a peer, with the response in the peer's error format. */
export class PeerRefusal extends Error {
  readonly answer: HttpAnswer;

  constructor(message: string, answer: HttpAnswer) {
    super(message);
    this.answer = answer;
  }
}

/** Returns the response of `work`, or that of its refusal. */
export async function refusing<T extends HttpAnswer | undefined>(work: () => T | Promise<T>): Promise<T | HttpAnswer> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof PeerRefusal) return error.answer;
    throw error;
  }
}

const statuses = { validation_error: 400, unauthorized: 401, not_found: 404, conflict: 409, gone: 410 } as const;

/** Returns a refusal of the delivery service or the pre-registration API, which have one error format (docs/peers/). */
export const codedRefusal = (code: keyof typeof statuses, message: string): PeerRefusal =>
  new PeerRefusal(message, { status: statuses[code], body: { code, message } });
