import type { Caller } from "./caller.ts";

/**
 * One invalid field of an input: its path as the caller wrote it (`shipment.shipment_items[0].name`) and the reason.
 */
export interface Problem {
  readonly path: string;
  readonly reason: string;
  /** For programs, where the reason is one of a fixed set. */
  readonly code?: string;
}

/** A parsed value, or the reason why the text is invalid: the rest of a sentence that begins with the field's name. */
export type Parsed<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly reason: string };

export const accepted = <T>(value: T): Parsed<T> => ({ ok: true, value });

export const refused = (reason: string): { readonly ok: false; readonly reason: string } => ({ ok: false, reason });

/** Every reason for which a call can fail. Each API maps all of them to status and error body in one table (G6). */
export const faultKinds = [
  "invalid",
  "unauthenticated",
  "forbidden",
  "not_found",
  "conflict",
  "length_required",
  "too_large",
  "unsupported_media",
  "throttled",
  "delivery_refused",
  "idp_refused",
  "unavailable",
  "internal",
] as const;

export type FaultKind = (typeof faultKinds)[number];

export interface FaultDetails {
  /** All invalid fields, not only the first. */
  readonly problems?: readonly Problem[];
  /** Seconds until a retry is useful; sent as `Retry-After`. */
  readonly retryAfterSeconds?: number;
  /** Additional members of the API's error body, by their wire names. */
  readonly data?: Readonly<Record<string, unknown>>;
  /** Reason code of a 401, 403, 429 or 503. It is logged and never sent. */
  readonly reason?: string;
  /** The refused caller, if its token is genuine. It is logged and never sent. */
  readonly caller?: Caller;
  readonly cause?: unknown;
}

/**
 * The only error type that becomes an error response. `message` is sent to the caller unchanged, so it must contain no
 * secret. Of the text of an external system it contains only the detail of a PeerFailure, which is short and plain.
 */
export class Fault extends Error {
  override readonly name = "Fault";
  readonly kind: FaultKind;
  readonly problems: readonly Problem[];
  readonly retryAfterSeconds: number | undefined;
  readonly data: Readonly<Record<string, unknown>> | undefined;
  readonly reason: string | undefined;
  readonly caller: Caller | undefined;

  constructor(kind: FaultKind, message: string, details: FaultDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.kind = kind;
    this.problems = details.problems ?? [];
    this.retryAfterSeconds = details.retryAfterSeconds;
    this.data = details.data;
    this.reason = details.reason;
    this.caller = details.caller;
  }
}

/** Whether a service of the deployment, such as storage, did not answer. A write that ended so may have succeeded. */
export const isUnavailable = (error: unknown): error is Fault => error instanceof Fault && error.kind === "unavailable";

/** Returns the Fault of a request with invalid fields. */
export const invalidRequest = (problems: readonly Problem[]): Fault =>
  new Fault("invalid", "The request is not valid.", { problems });

/** Throws `invalidRequest` if there are problems. */
export function refuseProblems(problems: readonly Problem[]): void {
  if (problems.length > 0) throw invalidRequest(problems);
}
