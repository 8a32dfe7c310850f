import type { Result } from "./async.ts";
import { type ActiveSpanHandle, timed } from "./telemetry.ts";
import { plainText } from "./text.ts";

/**
 * The kinds of failed calls, by what may be done next:
 * - `unreachable`: no connection was made, so the peer received nothing
 * - `unanswered`: the peer may have done the work (time-out, connection lost after the first byte, 3xx, 408, 5xx,
 *   unreadable 2xx)
 * - `throttled`: 429, or 503 with Retry-After: try again later
 * - `unauthorized`: 401 or 403: the connector's credentials were rejected, not this call
 * - `missing`: 404
 * - `refused`: any other 4xx; a repeat does not help
 */
export type PeerFailureKind = "unreachable" | "unanswered" | "throttled" | "unauthorized" | "missing" | "refused";

interface PeerFailureDetails {
  readonly status?: number | undefined;
  /** Seconds, from Retry-After (both forms of RFC 9110 section 10.2.3). */
  readonly retryAfter?: number | undefined;
  /** The peer's own error code and text, for `error_data` and `error_message`. Cut to 500 characters on one line. */
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
  readonly retryAfter: number | undefined;
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
    this.retryAfter = details.retryAfter;
    this.code = plainText(details.code);
    this.detail = plainText(details.detail);
    this.peerRequestId = details.peerRequestId;
  }

  /** Returns the same failure as one of another kind, with this one as its cause. @param changes details that differ */
  as(kind: PeerFailureKind, changes: PeerFailureDetails & { readonly operation?: string } = {}): PeerFailure {
    const { status, retryAfter, code, detail, peerRequestId } = this;
    const details = { status, retryAfter, code, detail, peerRequestId, cause: this, ...changes };
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

  /** Whether the peer itself says that it does not know what was asked for. A 404 without its error code may be a proxy's. */
  get isUnknownThere(): boolean {
    return this.kind === "missing" && this.code !== undefined;
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
