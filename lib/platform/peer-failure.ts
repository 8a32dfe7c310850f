import type { Result } from "./async.ts";
import { type ActiveSpanHandle, timed } from "./telemetry.ts";
import { plainText } from "./text.ts";
import { between, type Now } from "./time.ts";

/**
 * The kinds of failed calls, by what may be done next:
 * - `unreachable`: no connection was made, so the peer received nothing
 * - `unanswered`: the peer may have done the work (time-out, connection lost after the first byte, 3xx, 408, 5xx,
 *   unreadable 2xx)
 * - `throttled`: 429, or 503 with Retry-After: try again later. After a 503 the work may be done (`mayBeDone`)
 * - `unauthorized`: 401 or 403: our credentials were rejected; a 403 of an IdP may concern one user only
 * - `missing`: 404
 * - `refused`: any other 4xx; a repeat does not help
 */
export type PeerFailureKind = "unreachable" | "unanswered" | "throttled" | "unauthorized" | "missing" | "refused";

interface PeerFailureDetails {
  readonly status?: number | undefined;
  /** Seconds, from Retry-After (both forms of RFC 9110 section 10.2.3). */
  readonly retryAfterSeconds?: number | undefined;
  /** The peer's own error code and text. Cut to 500 characters on one line. */
  readonly code?: unknown;
  readonly detail?: unknown;
  /** The id by which the peer's support finds the call. */
  readonly peerRequestId?: string | undefined;
  readonly cause?: unknown;
}

/**
 * The only error that clients of peers throw. Its message names peer and operation, never a URL with a query, a token
 * or a body.
 */
export class PeerFailure extends Error {
  override readonly name = "PeerFailure";
  readonly peer: string;
  readonly operation: string;
  readonly kind: PeerFailureKind;
  readonly status: number | undefined;
  readonly retryAfterSeconds: number | undefined;
  readonly code: string | undefined;
  readonly detail: string | undefined;
  readonly peerRequestId: string | undefined;

  constructor(peer: string, operation: string, kind: PeerFailureKind, details: PeerFailureDetails = {}) {
    const status = details.status === undefined ? "" : ` (${details.status})`;
    super(`${peer}: ${operation} ${kind}${status}`, details.cause === undefined ? undefined : { cause: details.cause });
    this.peer = peer;
    this.operation = operation;
    this.kind = kind;
    this.status = details.status;
    this.retryAfterSeconds = details.retryAfterSeconds;
    this.code = plainText(details.code);
    this.detail = plainText(details.detail);
    this.peerRequestId = details.peerRequestId;
  }

  /** Returns the same failure as one of another kind, with this one as its cause. @param changes details that differ */
  as(kind: PeerFailureKind, changes: PeerFailureDetails & { readonly operation?: string } = {}): PeerFailure {
    const { status, retryAfterSeconds, code, detail, peerRequestId } = this;
    const details = { status, retryAfterSeconds, code, detail, peerRequestId, cause: this, ...changes };
    return new PeerFailure(this.peer, changes.operation ?? this.operation, kind, details);
  }

  /** Whether the same call may succeed later. */
  get isTransient(): boolean {
    return this.kind === "unreachable" || this.kind === "unanswered" || this.kind === "throttled";
  }

  /** Whether the peer may have done the work. A gateway answers 5xx, even with `Retry-After`, for a peer that has done it. */
  get mayBeDone(): boolean {
    return this.kind === "unanswered" || (this.status ?? 0) >= 500;
  }

  /** Whether the peer itself reports that it does not know what was asked for. */
  get isUnknownThere(): boolean {
    return this.kind === "missing" && this.code !== undefined;
  }

  /** Whether it is a 404 without an error code of the peer: it may be a proxy's, which knows nothing of the call. */
  get mayComeFromProxy(): boolean {
    return this.kind === "missing" && this.code === undefined;
  }
}

/** Returns the value of a call, or the failure of its peer. Throws any other error. */
export const orFailure = <T>(call: Promise<T>): Promise<T | PeerFailure> =>
  call.catch((error: unknown) => {
    if (error instanceof PeerFailure) return error;
    throw error;
  });

/** Runs one call of a peer in a span, and records its duration with `ok` or the kind of its failure. */
export function traceCall<T>(
  peer: string,
  operation: string,
  call: (span: ActiveSpanHandle) => Promise<T>,
): Promise<T> {
  const labels = { peer, operation };
  return timed("peer.call.duration", `${peer}: ${operation}`, { kind: "client", labels, outcomeOf }, call);
}

function outcomeOf(ended: Result<unknown>): string {
  if ("value" in ended) return "ok";
  return ended.error instanceof PeerFailure ? ended.error.kind : "failed";
}

/**
 * Returns the failure kind of a non-2xx status (see `PeerFailureKind`). 5xx and 408 are `unanswered`: a gateway may
 * send them after the peer did the work.
 */
export function kindOfStatus(status: number, retryAfterSeconds: number | undefined): PeerFailureKind {
  if (status === 429 || (status === 503 && retryAfterSeconds !== undefined)) return "throttled";
  if (status === 401 || status === 403) return "unauthorized";
  if (status === 404) return "missing";
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
 * Whether `fetch` failed before anything was sent. Only then may a call that changes something be repeated.
 * EHOSTUNREACH, ENETUNREACH and ETIMEDOUT can also end an open connection, so they count only if `syscall` is `connect`
 * or `getaddrinfo`.
 */
export function hasSentNothing(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (error instanceof AggregateError) return error.errors.length > 0 && error.errors.every(hasSentNothing);
  const { code, syscall } = error as NodeJS.ErrnoException;
  if (syscall === "connect" || syscall === "getaddrinfo") return true;
  if (code === "UND_ERR_CONNECT_TIMEOUT" || certificateErrors.has(code ?? "")) return true;
  return error.cause !== undefined && hasSentNothing(error.cause);
}

const maxRetryAfterSeconds = 86_400;

/** One of the values of a header, separated by commas. The comma after the weekday of a date separates nothing. */
const oneValue = /\s*(?:Mon|Tues?|Wed(?:nes)?|Thu(?:rs)?|Fri|Sat(?:ur)?|Sun)(?:day)?,[^,]*|[^,]+/g;

/**
 * Returns the whole seconds to wait from Retry-After (RFC 9110 section 10.2.3, both forms). A fraction, as Microsoft
 * Graph sends it, is rounded up. If several headers are joined by commas, returns the longest wait. At most a day, so
 * that a wrong value does not stop work; undefined if no value can be read.
 * @param now the clock for a date; without it a date counts as unreadable
 */
export function readRetryAfter(header: string | null | undefined, now?: Now): number | undefined {
  const waits = (header?.match(oneValue) ?? []).map(value => secondsOf(value.trim(), now));
  const longest = Math.max(...waits.filter(wait => wait !== undefined));
  // Math.max() of no values is -Infinity.
  return longest < 0 ? undefined : Math.min(longest, maxRetryAfterSeconds);
}

function secondsOf(value: string, now: Now | undefined): number | undefined {
  if (/^\d+(?:\.\d+)?$/.test(value)) return Math.ceil(Number(value));
  // All three date forms of RFC 9110 are UTC, but the asctime form does not name the zone.
  const date = Date.parse(value.endsWith("GMT") ? value : `${value} GMT`);
  if (now === undefined || !/^[A-Z][a-z]{2}/.test(value) || Number.isNaN(date)) return undefined;
  return Math.max(0, Math.ceil(between(now(), new Date(date).toISOString()) / 1000));
}

/** Headers with the call's id: of Microsoft Graph and Entra, PingOne, Advanced Identity Cloud, and common ones. */
const requestIdHeaders = [
  "request-id",
  "x-ms-request-id",
  "correlation-id",
  "x-forgerock-transactionid",
  "x-request-id",
  "x-correlation-id",
];

/** Returns the id by which the peer's support finds the call; undefined if the response has none. */
export function requestIdIn(headers: Headers): string | undefined {
  const ids = requestIdHeaders.map(name => headers.get(name));
  return ids.find((id): id is string => id !== null && /^[\w.:/-]{1,128}$/.test(id));
}
