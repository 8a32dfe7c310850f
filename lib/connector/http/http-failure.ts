import { between, type Now } from "../../time.ts";
import type { PeerFailureKind } from "./failure.ts";

/** What an answer outside 2xx means, by the list at {@link PeerFailureKind}. */
export function kindOfStatus(status: number, retryAfter: number | undefined): PeerFailureKind {
  if (status === 429 || (status === 503 && retryAfter !== undefined)) return "throttled";
  if (status === 401 || status === 403) return "unauthorized";
  if (status === 404) return "missing";
  // Given up in the midst, here or by a proxy, and not refused (RFC 9110 section 15.5.9).
  if (status === 408) return "unanswered";
  return status >= 400 && status < 500 ? "refused" : "unanswered";
}

const certificateErrors = new Set([
  "CERT_CHAIN_TOO_LONG",
  "CERT_HAS_EXPIRED",
  "CERT_NOT_YET_VALID",
  "CERT_REJECTED",
  "CERT_REVOKED",
  "CERT_SIGNATURE_FAILURE",
  "CERT_UNTRUSTED",
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "ERR_TLS_CERT_ALTNAME_INVALID",
  "HOSTNAME_MISMATCH",
  "INVALID_CA",
  "INVALID_PURPOSE",
  "PATH_LENGTH_EXCEEDED",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "UNABLE_TO_GET_ISSUER_CERT",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
]);

/**
 * Whether `fetch` failed before anything of the call was sent. Only then may a call that changes something be made again.
 * EHOSTUNREACH, ENETUNREACH and ETIMEDOUT also end a connection that was in use, so they count with the system call that made
 * the connection only.
 */
export function neverConnected(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (error instanceof AggregateError) return error.errors.length > 0 && error.errors.every(neverConnected);
  const { code, syscall } = error as NodeJS.ErrnoException;
  if (syscall === "connect" || syscall === "getaddrinfo") return true;
  if (code === "UND_ERR_CONNECT_TIMEOUT" || certificateErrors.has(code ?? "")) return true;
  return error.cause !== undefined && neverConnected(error.cause);
}

const longestRetryAfter = 86_400;

/** Seconds to wait (RFC 9110 section 10.2.3, both forms), at most a day: a peer's slip must not stop work for good. */
export function retryAfterSeconds(header: string | null, now: Now): number | undefined {
  if (header === null) return undefined;
  if (/^\d+$/.test(header.trim())) return Math.min(Number(header), longestRetryAfter);
  // An RFC 9110 date is UTC in all three forms, of which asctime does not say so.
  const date = Date.parse(/GMT\s*$/.test(header) ? header : `${header} GMT`);
  if (!/^[A-Z][a-z]{2}/.test(header) || Number.isNaN(date)) return undefined;
  const wait = Math.ceil(between(now(), new Date(date).toISOString()) / 1000);
  return Math.min(Math.max(wait, 0), longestRetryAfter);
}

/** Microsoft Graph and Entra, PingOne, Advanced Identity Cloud, and what others use. */
const requestIdHeaders = [
  "request-id",
  "x-ms-request-id",
  "correlation-id",
  "x-forgerock-transactionid",
  "x-request-id",
  "x-correlation-id",
];

/** The id under which a peer's support finds the call; undefined where it tells none. */
export function requestIdIn(headers: Headers): string | undefined {
  const ids = requestIdHeaders.map(name => headers.get(name));
  return ids.find((id): id is string => id !== null && /^[\w.:/-]{1,128}$/.test(id));
}
