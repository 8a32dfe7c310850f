import { Fault } from "../../platform/fault.ts";
import { warnOnError } from "../../platform/log.ts";
import { between, type Instant, plus } from "../../platform/time.ts";
import type { AuthDeps } from "../deps.ts";
import type { ThrottleKey, ThrottleState } from "../store.ts";
import { addressGroup, countAttempt, uncountAttempt } from "./caller-address.ts";
import {
  type Refusal,
  recordFailure,
  recordRefusal,
  recordSuccess,
  reserve,
  type Throttle,
  throttleExpiry,
  withdrawReservation,
} from "./throttle.ts";

/** A sign-in attempt and its slot in the row of a throttle (A12). */
export interface Attempt {
  /** Id of the reservation. */
  readonly reservationId: string;
  /** The throttle as this attempt has read or written it last. */
  throttle: ThrottleState;
  /** Whether the slot is reserved. True also while that is not known: the response to a write may be lost. */
  hasSlot: boolean;
}

/** What an attempt has reserved, to be released if it ends with an error. */
export interface AttemptReservations {
  counted?: CountedAddress | undefined;
  attempt?: Attempt | undefined;
}

/** Returns an attempt that has no slot yet. */
export const newAttempt = (throttle: ThrottleState, { random }: Pick<AuthDeps, "random">): Attempt => ({
  reservationId: Buffer.from(random(12)).toString("base64url"),
  throttle,
  hasSlot: false,
});

/** Reads a throttle; that of a name in parallel with the id to which the name leads. */
export const readThrottle = (key: ThrottleKey, { throttles, users }: AuthDeps): Promise<ThrottleState> =>
  throttles.find(key, key.kind === "name" ? users.idOf(key.text) : undefined);

/** No slot became free in time. Nothing was checked, so nothing failed. */
export class BusyFault extends Fault {
  constructor() {
    super("throttled", "Too many attempts at the same time. Try again in a moment.", { retryAfterSeconds: 1 });
  }
}

/** The attempt is refused until its username or address may try again. */
const throttled = (retryAfterSeconds: number): Fault =>
  new Fault("throttled", "Too many failed attempts. Try again later.", { retryAfterSeconds });

/**
 * Reserves a slot before anything is checked, so that parallel guesses cannot pass together. Returns what `read`
 * returns, which runs in parallel with the write of the slot, and again if that write has a conflict.
 * Throws Fault `throttled` while the username must wait, `BusyFault` if no slot becomes free in time.
 */
export async function reserveSlot<T>(attempt: Attempt, read: () => Promise<T>, deps: AuthDeps): Promise<T> {
  const { now, sleep, rules } = deps;
  const deadline = plus(now(), rules.slotWaitMs);
  /** Waits at most until the deadline, so that the last look is at the end of the time, not before it. */
  const pause = async (ms: number) => {
    const leftMs = between(now(), deadline);
    if (leftMs <= 0) throw new BusyFault();
    await sleep(Math.min(ms, leftMs));
  };
  let conflicts = 0;
  let waits = 0;
  for (;;) {
    const result = reserve(attempt.throttle.value, attempt.reservationId, now(), rules.throttle);
    if (result.outcome === "waiting") throw throttled(result.retryAfterSeconds);
    if (result.outcome === "reserved") {
      const reading = read();
      // If the reservation fails, this is never awaited: its rejection must not end the process.
      reading.catch(() => {});
      attempt.hasSlot = true;
      if (await save(attempt, result.next, deps)) return reading;
      conflicts += 1;
      await pause(jitterMs(Math.min(10 * 2 ** conflicts, 500), deps));
    } else {
      // The pause grows: hundreds of attempts at one username must not occupy the storage account with looks for a
      // slot.
      const pauseMs = Math.min(100 * 2 ** waits, 1_000);
      waits += 1;
      await pause(pauseMs / 2 + jitterMs(pauseMs / 2, deps));
    }
    attempt.throttle = await readThrottle(attempt.throttle.key, deps);
    attempt.hasSlot = isReserved(attempt);
  }
}

const isReserved = ({ throttle, reservationId }: Attempt): boolean =>
  throttle.value.reservations.some(({ id }) => id === reservationId);

/** Returns a random number of milliseconds below `limitMs`, so that attempts that want the same row spread out. */
function jitterMs(limitMs: number, { random }: Pick<AuthDeps, "random">): number {
  const [share = 0] = random(1);
  return Math.floor((share * limitMs) / 256);
}

/** Writes the throttle of an attempt by version. Returns false after a conflict. */
async function save(attempt: Attempt, next: Throttle, { throttles, rules }: AuthDeps): Promise<boolean> {
  const saved = await throttles.save(attempt.throttle, next, throttleExpiry(next, rules.throttle));
  attempt.throttle = saved ?? attempt.throttle;
  return saved !== undefined;
}

/** Writes the throttle unchanged, which takes the time of a real write. */
export const padTiming = (attempt: Attempt, deps: AuthDeps): Promise<unknown> =>
  save(attempt, attempt.throttle.value, deps);

/**
 * Ends an attempt. A success clears the failures, also if it is refused with right credentials. A refused attempt turns
 * its slot into a failure, and a withdrawn attempt only releases its slot. Keeps what other attempts have written in
 * the meantime.
 */
export async function concludeAttempt(
  attempt: Attempt,
  outcome: "succeeded" | "withdrawn" | { readonly refused: Refusal; readonly isRight?: boolean },
  deps: AuthDeps,
): Promise<void> {
  const { now, rules } = deps;
  const { reservationId } = attempt;
  const { ownerId } = attempt.throttle;
  const after = (throttle: Throttle): Throttle => {
    if (outcome === "withdrawn") return withdrawReservation(throttle, reservationId);
    if (outcome === "succeeded") return recordSuccess(throttle, reservationId, now(), rules.throttle);
    const refusal = { at: now(), ...outcome.refused };
    const record = outcome.isRight ? recordSuccess : recordFailure;
    return recordRefusal(record(throttle, reservationId, refusal.at, rules.throttle), refusal);
  };
  while (!(await save(attempt, after(attempt.throttle.value), deps))) {
    attempt.throttle = await readThrottle(attempt.throttle.key, deps);
    // The name has another owner, or none any more, whose throttle has nothing of this attempt.
    if (attempt.throttle.ownerId !== ownerId) return;
    if (outcome === "withdrawn" && !isReserved(attempt)) return;
  }
}

/**
 * Records the reason of a refused attempt on a device also in the throttle of the username, where administrators look.
 * It does not count there. After a conflict the newer row stays.
 */
export async function recordRefusalOnName(throttle: ThrottleState, refused: Refusal, deps: AuthDeps): Promise<void> {
  const next = recordRefusal(throttle.value, { at: deps.now(), ...refused });
  const saving = deps.throttles.save(throttle, next, throttleExpiry(next, deps.rules.throttle));
  await warnOnError("refusal_not_recorded", saving, deps);
}

/** An attempt that is counted against its caller's address (A12). */
interface CountedAddress {
  readonly group: string;
  /** Start of the window in which it is counted. */
  readonly since: Instant;
}

/**
 * Counts an attempt before any other work, so that an address over its limit costs no more than one read. Returns
 * undefined if addresses are not limited, if this one is on the allow-list, or if it is unknown.
 * Throws Fault `throttled` while the address must wait, `BusyFault` if too many attempts of it come at once.
 */
export async function countAddress(address: string | undefined, deps: AuthDeps): Promise<CountedAddress | undefined> {
  const { limits, isExempt } = deps.rules.address;
  const group = limits.attempts === 0 || address === undefined || isExempt(address) ? undefined : addressGroup(address);
  if (group === undefined) return undefined;
  const deadline = plus(deps.now(), deps.rules.slotWaitMs);
  for (;;) {
    const current = await deps.addresses.find(group);
    const attempt = countAttempt(current.value, deps.now(), limits);
    if (attempt.outcome === "waiting") throw throttled(attempt.retryAfterSeconds);
    const { next } = attempt;
    const saved = await deps.addresses.save(current, next, plus(next.since, limits.windowMs));
    if (saved !== undefined) return { group, since: next.since };
    if (deps.now() > deadline) throw new BusyFault();
  }
}

/**
 * Subtracts an attempt that succeeded or ended without a decision, once: a second call does nothing. If the window has
 * rolled over there is nothing to subtract.
 */
export async function uncountAddress(
  reservations: Pick<AttemptReservations, "counted">,
  { addresses, rules }: AuthDeps,
): Promise<void> {
  const { counted } = reservations;
  reservations.counted = undefined;
  if (counted === undefined) return;
  const { group, since } = counted;
  for (;;) {
    const current = await addresses.find(group);
    if (current.value?.since !== since) return;
    const next = uncountAttempt(current.value);
    if ((await addresses.save(current, next, plus(next.since, rules.address.limits.windowMs))) !== undefined) return;
  }
}
