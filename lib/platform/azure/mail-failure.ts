import { Fault } from "../fault.ts";
import { hasSentNothing, kindOfStatus, PeerFailure, readRetryAfter } from "../peer-failure.ts";
import type { Now } from "../time.ts";
import { isServiceError } from "./services.ts";

const peer = "mail";

/** Returns the PeerFailure for an error of the mail SDK. */
export function toMailFailure(operation: string, error: unknown, now: Now): PeerFailure {
  if (error instanceof Fault) return new PeerFailure(peer, operation, "unreachable", { cause: error });
  if (!isServiceError(error) || error.statusCode === undefined) return unanswered(operation, error);
  const { statusCode: status, response, code } = error;
  const retryAfterSeconds = readRetryAfter(response?.headers.get("retry-after"), now);
  // Without text and cause, because the service quotes recipients' addresses (G10).
  return new PeerFailure(peer, operation, kindOfStatus(status, retryAfterSeconds), {
    status,
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
    code: errorCode(code),
  });
}

/**
 * Returns the service's error code, which people read in messages, logs and events. A value that is not a word is left
 * out: it is no code, and could be an address.
 */
export const errorCode = (value: unknown): string | undefined =>
  typeof value === "string" && /^[A-Za-z][A-Za-z0-9]{0,63}$/.test(value) ? value : undefined;

/** Returns the failure for a 2xx whose body cannot be read. */
export const unreadableMailResponse = (operation: string, status: number): PeerFailure =>
  new PeerFailure(peer, operation, "unanswered", { status });

function unanswered(operation: string, error: unknown): PeerFailure {
  const kind = error instanceof Error && notConnected(error) ? "unreachable" : "unanswered";
  return new PeerFailure(peer, operation, kind, { cause: error });
}

/**
 * Returns whether nothing was sent. The SDK's error has the code and message of the system's error, but not its system
 * call.
 */
const notConnected = (error: Error): boolean =>
  hasSentNothing(error) ||
  (error as NodeJS.ErrnoException).code === "ECONNREFUSED" ||
  /^(connect|getaddrinfo) /.test(error.message);
