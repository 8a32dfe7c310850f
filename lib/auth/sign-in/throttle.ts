import * as z from "zod";
import { omitUndefined } from "../../platform/collections.ts";
import { Fault } from "../../platform/fault.ts";
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
/** Why an attempt was refused, for administrators. */
export type Refusal = Omit<NonNullable<Throttle["lastRefusal"]>, "at">;

/** How an attempt ends. */
export interface AttemptEnd {
  /** A success clears the failures. An attempt without a decision counts as nothing. */
  readonly counts: "success" | "failure" | "nothing";
  readonly refusal?: Refusal;
}

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

export const noFailures: Throttle = { failures: 0, reservations: [] };

/** Returns the Fault of an attempt that is refused until its username or address may try again. */
export const throttled = (waitMs: number): Fault =>
  new Fault("throttled", "Too many failed attempts. Try again later.", { retryAfterSeconds: Math.ceil(waitMs / 1000) });

/** Returns the Fault of an attempt that other attempts kept from its turn. Nothing was checked, so nothing failed. */
export const busy = (): Fault =>
  new Fault("throttled", "Too many attempts at the same time. Try again in a moment.", {
    retryAfterSeconds: 1,
    reason: "busy",
  });

/**
 * Reserves a slot for an attempt before anything is checked. After the allowed number of failures there is one slot at
 * a time, and it becomes free when the wait is over. Replaces a reservation of the attempt itself, which is there if
 * the response to an earlier write was lost. Returns undefined if other unfinished attempts occupy all slots.
 * Throws Fault `throttled` during a wait.
 */
export function reserve(throttle: Throttle, id: string, now: Instant, limits: ThrottleLimits): Throttle | undefined {
  const current = applyExpiry(throttle, now, limits);
  const waitMs = between(now, lockedUntil(current, limits) ?? now);
  if (waitMs > 0) throw throttled(waitMs);
  const others = withoutSlot(current, id);
  if (others.length >= Math.max(1, limits.failures - current.failures)) return undefined;
  return { ...current, reservations: [...others, { id, at: now }] };
}

/** Removes the slot of an attempt and counts its end. Other unfinished attempts keep their slots. */
export function endAttempt(
  throttle: Throttle,
  id: string,
  { counts, refusal }: AttemptEnd,
  now: Instant,
  limits: ThrottleLimits,
): Throttle {
  if (counts === "nothing") return { ...throttle, reservations: withoutSlot(throttle, id) };
  const current = applyExpiry(throttle, now, limits);
  const reservations = withoutSlot(current, id);
  const lastRefusal = refusal ? { at: now, ...refusal } : current.lastRefusal;
  if (counts === "success") return omitUndefined({ failures: 0, reservations, lastRefusal });
  // A slot that has expired counts as a failure already.
  const isNew = reservations.length < current.reservations.length;
  return omitUndefined({
    failures: current.failures + (isNew ? 1 : 0),
    failedAt: isNew ? later(current.failedAt, now) : current.failedAt,
    reservations,
    lastRefusal,
  });
}

/** What an administrator sees of a throttle. */
export interface Lock {
  readonly failures: number;
  /** Time until which every attempt is refused; absent if none is. */
  readonly lockedUntil?: Instant;
  readonly runningAttempts: number;
  readonly lastRefusal?: NonNullable<Throttle["lastRefusal"]>;
}

/** Returns the lock at this moment, as the next attempt would find it. */
export function lockAt(throttle: Throttle, now: Instant, limits: ThrottleLimits): Lock {
  const current = applyExpiry(throttle, now, limits);
  const { failures, reservations, lastRefusal } = current;
  const until = lockedUntil(current, limits);
  return omitUndefined({
    failures,
    lockedUntil: until !== undefined && until > now ? until : undefined,
    runningAttempts: reservations.length,
    lastRefusal,
  });
}

/** Returns when clean-up may delete the throttle (A19). Undefined if it is empty now. */
export function throttleExpiry(
  { failedAt, lastRefusal, reservations }: Throttle,
  { reservationMs, keepMs }: ThrottleLimits,
): Instant | undefined {
  let last = later(failedAt, lastRefusal?.at);
  for (const { at } of reservations) last = later(last, plus(at, reservationMs));
  return last && plus(last, keepMs);
}

/**
 * Returns the throttle at this moment: expired reservations become failures, expired failures and an expired refusal
 * are removed.
 */
function applyExpiry(throttle: Throttle, now: Instant, { reservationMs, keepMs }: ThrottleLimits): Throttle {
  let { failures, failedAt, lastRefusal } = throttle;
  const reservations: Throttle["reservations"][number][] = [];
  for (const reservation of throttle.reservations) {
    const expiresAt = plus(reservation.at, reservationMs);
    if (now <= expiresAt) reservations.push(reservation);
    else [failures, failedAt] = [failures + 1, later(failedAt, expiresAt)];
  }
  const keptFrom = plus(now, -keepMs);
  if (failedAt === undefined || failedAt <= keptFrom) [failures, failedAt] = [0, undefined];
  if (lastRefusal !== undefined && lastRefusal.at <= keptFrom) lastRefusal = undefined;
  return omitUndefined({ failures, failedAt, reservations, lastRefusal });
}

const withoutSlot = ({ reservations }: Throttle, id: string): Throttle["reservations"] =>
  reservations.filter(reservation => reservation.id !== id);

/** Returns the later of two times, of which either may be absent. */
const later = (one: Instant | undefined, other: Instant | undefined): Instant | undefined =>
  one === undefined || (other !== undefined && other > one) ? other : one;

/** Returns the end of the wait after the last failure; undefined without a wait. */
function lockedUntil(
  { failures, failedAt }: Throttle,
  { failures: allowed, firstWaitMs, maxWaitMs }: ThrottleLimits,
): Instant | undefined {
  if (failures < allowed || failedAt === undefined) return undefined;
  return plus(failedAt, Math.min(maxWaitMs, firstWaitMs * 2 ** Math.min(failures - allowed, 40)));
}
