import * as z from "zod";
import { type Immutable, storedInstant } from "../../platform/stored.ts";
import { between, type Instant, plus } from "../../platform/time.ts";

/** The failed and the unfinished attempts of a username (A12). */
export const throttleSchema = z.lazy(() =>
  z.object({
    /** Number of failures since the last success. */
    failures: z.int().nonnegative(),
    /** Time of the last failure; absent if there is none. */
    failedAt: storedInstant.exactOptional(),
    /** The slots of unfinished attempts. The id is random, so that an attempt releases only its own slot. */
    reservations: z.array(z.object({ id: z.string(), at: storedInstant })),
    /** The last refused attempt, for administrators; absent if there is none. */
    lastRefusal: z
      .object({
        at: storedInstant,
        reason: z.string(),
        /** Why the OTP was wrong, as in the audit event; absent for another reason. */
        otpOutcome: z.string().exactOptional(),
        /** Prefix of the OTP key that the wrong OTP belongs to; absent if no OTP key has it. */
        prefix: z.string().exactOptional(),
      })
      .exactOptional(),
  }),
);
export type Throttle = Immutable<z.output<typeof throttleSchema>>;
type Reservation = Throttle["reservations"][number];
type LastRefusal = NonNullable<Throttle["lastRefusal"]>;
/** Why an attempt was refused, for administrators. */
export type Refusal = Omit<LastRefusal, "at">;

/** Limits from the settings. Durations are in milliseconds. */
export interface ThrottleLimits {
  /** Failures in a row before waits begin. */
  readonly failures: number;
  /** Wait after that many failures; doubles with each further one. */
  readonly firstWaitMs: number;
  readonly maxWaitMs: number;
  /** Age at which a reservation counts as a failure. */
  readonly reservationMs: number;
  /**
   * Age of the last failure at which all failures expire, and of the last refusal. Not shorter than the maximum wait.
   */
  readonly keepMs: number;
}

/**
 * The result of a reservation.
 * - `reserved`: the attempt may continue after `next` is written
 * - `busy`: other unfinished attempts occupy all slots; one may become free soon
 * - `waiting`: refused; `retryAfterSeconds` is in whole seconds
 */
type ReserveResult =
  | { readonly outcome: "reserved"; readonly next: Throttle }
  | { readonly outcome: "busy" }
  | { readonly outcome: "waiting"; readonly retryAfterSeconds: number };

export const noFailures: Throttle = { failures: 0, reservations: [] };

/**
 * Reserves a slot for an attempt before anything is checked. After the allowed number of failures there is one slot at
 * a time, and it becomes free when the wait is over. Replaces a reservation of the attempt itself, which is there if
 * the response to an earlier write was lost.
 */
export function reserve(throttle: Throttle, id: string, now: Instant, limits: ThrottleLimits): ReserveResult {
  const current = applyExpiry(throttle, now, limits);
  const { failures, failedAt } = current;
  const waitMs = failedAt === undefined ? 0 : waitAfter(failures, limits) - between(failedAt, now);
  if (waitMs > 0) return { outcome: "waiting", retryAfterSeconds: Math.ceil(waitMs / 1000) };
  const slots = Math.max(1, limits.failures - failures);
  const others = withoutReservation(current, id);
  if (others.length >= slots) return { outcome: "busy" };
  return { outcome: "reserved", next: { ...current, reservations: [...others, { id, at: now }] } };
}

/** Turns the slot of a failed attempt into a failure, unless it has expired: then it counts as one already. */
export function recordFailure(throttle: Throttle, id: string, now: Instant, limits: ThrottleLimits): Throttle {
  const current = applyExpiry(throttle, now, limits);
  if (!current.reservations.some(reservation => reservation.id === id)) return current;
  return withFailures(current, [now], withoutReservation(current, id));
}

/** Records why an attempt was refused. */
export const recordRefusal = (throttle: Throttle, lastRefusal: LastRefusal): Throttle => ({ ...throttle, lastRefusal });

/** Removes the slot of a successful attempt and all failures. Other unfinished attempts keep their slots. */
export function recordSuccess(throttle: Throttle, id: string, now: Instant, limits: ThrottleLimits): Throttle {
  const current = applyExpiry(throttle, now, limits);
  return { ...withoutFailures(current), reservations: withoutReservation(current, id) };
}

/** Removes the slot of an attempt that ended without a decision. It counts as neither success nor failure. */
export const withdrawReservation = (throttle: Throttle, id: string): Throttle => ({
  ...throttle,
  reservations: withoutReservation(throttle, id),
});

/** What an administrator sees of a throttle. */
export interface Lock {
  readonly failures: number;
  /** Time until which every attempt is refused; absent if none is. */
  readonly lockedUntil?: Instant;
  readonly runningAttempts: number;
  readonly lastRefusal?: LastRefusal;
}

/** Returns the lock at this moment, as the next attempt would find it. */
export function lockAt(throttle: Throttle, now: Instant, limits: ThrottleLimits): Lock {
  const { failures, failedAt, reservations, lastRefusal } = applyExpiry(throttle, now, limits);
  const lockedUntil = failedAt === undefined ? undefined : plus(failedAt, waitAfter(failures, limits));
  return {
    failures,
    ...(lockedUntil !== undefined && lockedUntil > now && { lockedUntil }),
    runningAttempts: reservations.length,
    ...(lastRefusal && { lastRefusal }),
  };
}

/** Returns when clean-up may delete the throttle (A19). Undefined if it is empty now. */
export function throttleExpiry(
  { failedAt, lastRefusal, reservations }: Throttle,
  limits: ThrottleLimits,
): Instant | undefined {
  const last = latestOf([failedAt, lastRefusal?.at, ...reservations.map(({ at }) => plus(at, limits.reservationMs))]);
  return last === undefined ? undefined : plus(last, limits.keepMs);
}

/**
 * Returns the throttle at this moment: expired reservations become failures, expired failures and an expired refusal
 * are removed.
 */
function applyExpiry(throttle: Throttle, now: Instant, limits: ThrottleLimits): Throttle {
  const isOld = ({ at }: Reservation) => between(at, now) > limits.reservationMs;
  const expired = throttle.reservations.filter(isOld).map(({ at }) => plus(at, limits.reservationMs));
  const open = throttle.reservations.filter(reservation => !isOld(reservation));
  const isOver = (at: Instant) => between(at, now) >= limits.keepMs;
  const { lastRefusal, ...counted } = withFailures(throttle, expired, open);
  const current = { ...counted, ...(lastRefusal && !isOver(lastRefusal.at) && { lastRefusal }) };
  return current.failedAt !== undefined && isOver(current.failedAt) ? withoutFailures(current) : current;
}

const withoutFailures = ({ failedAt: _, ...throttle }: Throttle): Throttle => ({ ...throttle, failures: 0 });

function withFailures(throttle: Throttle, times: readonly Instant[], reservations: readonly Reservation[]): Throttle {
  const failedAt = latestOf([throttle.failedAt, ...times]);
  const failures = throttle.failures + times.length;
  return { ...throttle, failures, ...(failedAt === undefined ? {} : { failedAt }), reservations };
}

const latestOf = (times: readonly (Instant | undefined)[]): Instant | undefined =>
  times
    .filter(time => time !== undefined)
    .sort()
    .at(-1);

const withoutReservation = ({ reservations }: Throttle, id: string): readonly Reservation[] =>
  reservations.filter(reservation => reservation.id !== id);

function waitAfter(
  failures: number,
  { failures: allowed, firstWaitMs, maxWaitMs: longestWaitMs }: ThrottleLimits,
): number {
  if (failures < allowed) return 0;
  return Math.min(longestWaitMs, firstWaitMs * 2 ** Math.min(failures - allowed, 40));
}
