import type { HttpAnswer } from "../peer.ts";

/** A refusal of AM, in its error format. */
export class AmError extends Error {
  readonly status: number;
  readonly reason: string;
  readonly errorCode: string | undefined;

  constructor(status: number, reason: string, message: string, errorCode?: string) {
    super(message);
    this.status = status;
    this.reason = reason;
    this.errorCode = errorCode;
  }
}

export async function asAm(work: () => Promise<HttpAnswer | undefined>): Promise<HttpAnswer | undefined> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof AmError)) throw error;
    const { status, reason, message, errorCode } = error;
    return { status, body: { code: status, reason, message, ...(errorCode && { detail: { errorCode } }) } };
  }
}

export const badRequest = (message: string) => new AmError(400, "Bad Request", message);
export const notFound = () => new AmError(404, "Not Found", "Resource cannot be found");
/** The response to every failed journey: AM does not report the reason. */
export const journeyFailure = () => new AmError(401, "Unauthorized", "Login failure");
export const timedOut = () => new AmError(401, "Unauthorized", "Session has timed out", "110");
