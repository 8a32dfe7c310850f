import type { Result } from "./async.ts";
import { type ActiveSpanHandle, timed } from "./telemetry.ts";
import { plainText } from "./text.ts";

/**
 * The kinds of failed calls, by what may be done next:
 * - `unreachable`: no connection was made, so the peer received nothing; or a 404 without the peer's own error code:
 *   most likely a proxy's, and no proof that the peer received nothing
 * - `unanswered`: the peer may have done the work (time-out, connection lost after the first byte, 3xx, 408, 5xx,
 *   unreadable 2xx)
 * - `throttled`: 429, or 503 with Retry-After: try again later. After a 503 the work may be done (`mayBeDone`)
 * - `unauthorized`: 401 or 403: our credentials were rejected; a 403 of an IdP may concern one user only
 * - `missing`: 404, by which the peer itself reports that it does not know what was asked for
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
 * @param code the peer's own error code
 */
export function kindOfStatus(
  status: number,
  { retryAfterSeconds, code }: Pick<PeerFailureDetails, "retryAfterSeconds" | "code">,
): PeerFailureKind {
  if (status === 429 || (status === 503 && retryAfterSeconds !== undefined)) return "throttled";
  if (status === 401 || status === 403) return "unauthorized";
  if (status === 404) return plainText(code) === undefined ? "unreachable" : "missing";
  if (status === 408) return "unanswered";
  return status >= 400 && status < 500 ? "refused" : "unanswered";
}
