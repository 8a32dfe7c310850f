import type { Caller } from "./caller.ts";

/** One wrong field of an input: its path as the caller wrote it (`shipment.shipment_items[0].name`) and why. */
export interface Problem {
  readonly path: string;
  readonly reason: string;
}

/** Every way in which a call can be refused. Each wing maps all of them to its wire shape in one table (decision G6). */
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
  /** All wrong fields, not only the first. */
  readonly problems?: readonly Problem[];
  /** Seconds until another try makes sense; becomes `Retry-After`. */
  readonly retryAfter?: number;
  /** What a wing's error body adds, by the names of its wire. */
  readonly data?: Readonly<Record<string, unknown>>;
  /** Why a caller was refused (401, 403), in one word for the log. It is never sent. */
  readonly reason?: string;
  /** The caller that was refused, where its token is genuine. It is logged and never sent. */
  readonly caller?: Caller;
  readonly cause?: unknown;
}

/**
 * The one refusal type. `message` goes to the caller as it stands: never a secret, never a foreign system's text that was
 * not meant for the caller.
 */
export class Fault extends Error {
  override readonly name = "Fault";
  readonly kind: FaultKind;
  readonly problems: readonly Problem[];
  readonly retryAfter: number | undefined;
  readonly data: Readonly<Record<string, unknown>> | undefined;
  readonly reason: string | undefined;
  readonly caller: Caller | undefined;

  constructor(kind: FaultKind, message: string, details: FaultDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.kind = kind;
    this.problems = details.problems ?? [];
    this.retryAfter = details.retryAfter;
    this.data = details.data;
    this.reason = details.reason;
    this.caller = details.caller;
  }
}
