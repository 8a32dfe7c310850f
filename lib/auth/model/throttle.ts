import { between, type Instant, plus } from "../../time.ts";

/** One username's failed and running attempts (decision A12). */
export interface Throttle {
  /** In a row; the last success cleared them. */
  readonly failures: number;
  /** Of the last failure; absent where there is none. */
  readonly failedAt?: Instant;
  readonly reservations: readonly Reservation[];
}

/** The place of an attempt that is under way. */
export interface Reservation {
  /** Random, so that an attempt gives back its own place alone. */
  readonly id: string;
  readonly at: Instant;
}

/** Settings of decision A12; milliseconds. */
export interface ThrottleLimits {
  /** Failures in a row before waits begin. */
  readonly failures: number;
  /** After the first failure too many; doubles with each further one. */
  readonly firstWaitMs: number;
  readonly longestWaitMs: number;
  /** Age at which a reservation counts as a failure. */
  readonly reservationMs: number;
  /** Age of the last failure at which all are forgotten. No shorter than the longest wait. */
  readonly keepMs: number;
}

/**
 * - `reserved`: the attempt may go on once `next` is written
 * - `busy`: other attempts hold what places there are; one may come free soon
 * - `waiting`: refused for that many whole seconds
 */
export type Attempt =
  | { readonly outcome: "reserved"; readonly next: Throttle }
  | { readonly outcome: "busy" }
  | { readonly outcome: "waiting"; readonly retryAfter: number };

export const noFailures: Throttle = { failures: 0, reservations: [] };

/**
 * Takes a place for an attempt before anything is checked (decision A12). After as many failures as are allowed there is
 * one place at a time, and it opens when the wait is over.
 */
export function reserve(throttle: Throttle, id: string, now: Instant, limits: ThrottleLimits): Attempt {
  const current = settled(throttle, now, limits);
  const { failures, failedAt, reservations } = current;
  const waitMs = failedAt === undefined ? 0 : waitAfter(failures, limits) - between(failedAt, now);
  if (waitMs > 0) return { outcome: "waiting", retryAfter: Math.ceil(waitMs / 1000) };
  const places = Math.max(1, limits.failures - failures);
  if (reservations.length >= places) return { outcome: "busy" };
  return { outcome: "reserved", next: { ...current, reservations: [...reservations, { id, at: now }] } };
}

/** The attempt failed: its place becomes a failure, unless it was so old that it counts as one already. */
export function failed(throttle: Throttle, id: string, now: Instant, limits: ThrottleLimits): Throttle {
  const current = settled(throttle, now, limits);
  if (!current.reservations.some(reservation => reservation.id === id)) return current;
  return withFailures(current, [now], without(current, id));
}

/** The attempt succeeded: its place and all failures go. Attempts still under way keep theirs. */
export const succeeded = (throttle: Throttle, id: string, now: Instant, limits: ThrottleLimits): Throttle => ({
  failures: 0,
  reservations: without(settled(throttle, now, limits), id),
});

/** The attempt was neither: it ended before its answer was known. Its place goes, and nothing counts. */
export const withdrawn = (throttle: Throttle, id: string): Throttle => ({
  ...throttle,
  reservations: without(throttle, id),
});

/** When nothing of it matters any more, so that clean-up may delete it (decision A19). Undefined where nothing does now. */
export function throttleEnds({ failedAt, reservations }: Throttle, limits: ThrottleLimits): Instant | undefined {
  const last = latest([failedAt, ...reservations.map(({ at }) => plus(at, limits.reservationMs))]);
  return last === undefined ? undefined : plus(last, limits.keepMs);
}

/** What is left at this moment: old reservations are failures, old failures are forgotten. */
function settled(throttle: Throttle, now: Instant, limits: ThrottleLimits): Throttle {
  const isOld = ({ at }: Reservation) => between(at, now) > limits.reservationMs;
  const expired = throttle.reservations.filter(isOld).map(({ at }) => plus(at, limits.reservationMs));
  const open = throttle.reservations.filter(reservation => !isOld(reservation));
  const counted = withFailures(throttle, expired, open);
  const { failedAt } = counted;
  return failedAt !== undefined && between(failedAt, now) >= limits.keepMs
    ? { failures: 0, reservations: open }
    : counted;
}

function withFailures(throttle: Throttle, times: readonly Instant[], reservations: readonly Reservation[]): Throttle {
  const failedAt = latest([throttle.failedAt, ...times]);
  return { failures: throttle.failures + times.length, ...(failedAt === undefined ? {} : { failedAt }), reservations };
}

const latest = (times: readonly (Instant | undefined)[]): Instant | undefined =>
  times
    .filter(time => time !== undefined)
    .sort()
    .at(-1);

const without = ({ reservations }: Throttle, id: string): readonly Reservation[] =>
  reservations.filter(reservation => reservation.id !== id);

function waitAfter(failures: number, { failures: allowed, firstWaitMs, longestWaitMs }: ThrottleLimits): number {
  if (failures < allowed) return 0;
  return Math.min(longestWaitMs, firstWaitMs * 2 ** Math.min(failures - allowed, 40));
}
