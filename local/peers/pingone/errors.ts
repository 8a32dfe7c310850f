import { randomUUID } from "node:crypto";
import type { HttpAnswer } from "../peer.ts";

interface Detail {
  readonly code: string;
  readonly target?: string;
  readonly message: string;
}

/** A refusal of PingOne, in its error format. */
export class PingOneError extends Error {
  readonly status: number;
  readonly code: string;
  readonly details: readonly Detail[];

  constructor(status: number, code: string, message: string, details: readonly Detail[] = []) {
    super(message);
    this.status = status;
    this.code = code;
    this.details = details;
  }
}

export async function asPingOne(work: () => Promise<HttpAnswer | undefined>): Promise<HttpAnswer | undefined> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof PingOneError)) throw error;
    const { status, code, message, details } = error;
    return { status, body: { id: randomUUID(), code, message, ...(details.length > 0 && { details }) } };
  }
}

export const notFound = () => new PingOneError(404, "NOT_FOUND", "The requested resource object cannot be found.");

export const invalid = (target: string, message: string) =>
  new PingOneError(
    400,
    "INVALID_DATA",
    "The request could not be completed. One or more validation errors were in it.",
    [{ code: "INVALID_VALUE", target, message }],
  );

/** The status is that of throttling; only the detail shows that waiting does not help. */
export const tooManyDevices = () =>
  new PingOneError(429, "REQUEST_LIMITED", "The request was limited.", [
    { code: "LIMIT_EXCEEDED", target: "devices", message: "The user has as many devices as are allowed." },
  ]);
