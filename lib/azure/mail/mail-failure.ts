import { Fault } from "../../fault.ts";
import { kindOfStatus, neverConnected, retryAfterSeconds } from "../../http-failure.ts";
import { PeerFailure } from "../../peer-failure.ts";
import type { Now } from "../../time.ts";
import { isServiceError, type ServiceError } from "../service-errors.ts";

const peer = "mail";

/** Any error of the mail SDK as the connector knows failures. */
export function toMailFailure(operation: string, error: unknown, now: Now): PeerFailure {
  if (error instanceof Fault) return new PeerFailure(peer, operation, "unreachable", { cause: error });
  if (!isServiceError(error) || error.statusCode === undefined) return unanswered(operation, error);
  const { statusCode: status, response, code } = error;
  const retryAfter = retryAfterSeconds(response?.headers.get("retry-after") ?? null, now);
  // Neither text nor cause: the service quotes addresses of recipients (decision G10).
  return new PeerFailure(peer, operation, kindOfStatus(status, retryAfter), {
    status,
    ...(retryAfter === undefined ? {} : { retryAfter }),
    ...(code === undefined ? {} : { code }),
  });
}

/** A 2xx that says nothing that can be read. */
export const unreadableResponse = (operation: string, status: number): PeerFailure =>
  new PeerFailure(peer, operation, "unanswered", { status });

function unanswered(operation: string, error: unknown): PeerFailure {
  const kind = error instanceof Error && notConnected(error) ? "unreachable" : "unanswered";
  return new PeerFailure(peer, operation, kind, { cause: error });
}

/** The SDK keeps code and message of the system's error, not its system call. */
const notConnected = (error: Error): boolean =>
  neverConnected(error) ||
  (error as ServiceError).code === "ECONNREFUSED" ||
  /^(connect|getaddrinfo) /.test(error.message);
