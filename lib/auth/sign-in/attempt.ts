import { Fault } from "../../platform/fault.ts";
import { warnOnError } from "../../platform/log.ts";
import { between, type Instant, plus } from "../../platform/time.ts";
import type { AuthDeps } from "../deps.ts";
import type { ThrottleKey, ThrottleState } from "../store.ts";
import { addressGroup } from "./caller-address.ts";
import {
  type AttemptEnd,
  busy,
  endAttempt,
  noFailures,
  type Refusal,
  reserve,
  type Throttle,
  throttleExpiry,
} from "./throttle.ts";

/** An attempt to authenticate, and what it has reserved (A12). */
export interface Attempt {
  /** Random. Names its slot in the throttle. */
  readonly id: string;
  /**
   * The throttle as read or written last, with a slot whose write may have had no answer. Absent before the user is
   * identified, and also later if the credentials can name no user.
   */
  throttle?: ThrottleState | undefined;
  /** The throttle of the username; present if the attempt counts against a device instead (A23). */
  nameThrottle?: ThrottleState | undefined;
  /** The address against which it is counted, and the start of the window. */
  address?: { readonly group: string; readonly since: Instant } | undefined;
}

/**
 * Counts an attempt against its caller's address before any other storage call, so that an address over its limit costs
 * no more than one read. Does nothing if addresses are not limited, if this one is on the allow-list, or if it is
 * unknown.
 * Throws Fault `throttled` while the address must wait, or if too many attempts of it are counted at once.
 */
export async function countAddress(attempt: Attempt, address: string | undefined, deps: AuthDeps): Promise<void> {
  const { limits, isExempt } = deps.rules.address;
  const group = limits.attempts === 0 || address === undefined || isExempt(address) ? undefined : addressGroup(address);
  if (group !== undefined) attempt.address = { group, since: await deps.addresses.count(group, limits) };
}

/**
 * Subtracts an attempt that succeeded or ended without a decision, once. A failure is only logged: session and OTP
 * cannot be taken back.
 */
function uncountAddress(attempt: Attempt, { group, since }: NonNullable<Attempt["address"]>, deps: AuthDeps) {
  attempt.address = undefined;
  const uncounted = deps.addresses.uncount(group, since, deps.rules.address.limits);
  return warnOnError("address_not_uncounted", uncounted, deps);
}

/** Reads a throttle; that of a name in parallel with the id to which the name leads. */
export const readThrottle = (key: ThrottleKey, { throttles, users }: AuthDeps): Promise<ThrottleState> =>
  throttles.find(key, key.kind === "name" ? users.idOf(key.text) : undefined);

/**
 * Reserves a slot before anything is checked, so that parallel guesses cannot pass together. Returns what `read`
 * returns, which runs in parallel with the write of the slot, and again if that write has a conflict.
 * Throws Fault `throttled` while the username must wait, or if no slot becomes free in time.
 */
export async function reserveSlot<T>(attempt: Attempt, read: () => Promise<T>, deps: AuthDeps): Promise<T> {
  const { now, sleep, random, rules } = deps;
  const deadline = plus(now(), rules.slotWaitMs);
  for (let pauseMs = 20; ; pauseMs = Math.min(pauseMs * 2, 1_000)) {
    const next = reserve(attempt.throttle?.value ?? noFailures, attempt.id, now(), rules.throttle);
    if (next !== undefined) {
      const reading = read();
      // If the reservation fails, this is never awaited: its rejection must not end the process.
      reading.catch(() => {});
      attempt.throttle &&= { ...attempt.throttle, value: next };
      if (await save(attempt, next, deps)) return reading;
    }
    // Pauses are random and grow: hundreds of attempts at one username must not occupy the storage account. The last
    // look is at the deadline, not before it.
    const leftMs = between(now(), deadline);
    if (leftMs <= 0) throw busy();
    const [share = 0] = random(1);
    await sleep(Math.min(Math.floor(pauseMs * (0.5 + share / 256)), leftMs));
    await readAgain(attempt, deps);
  }
}

/** Whether an attempt has a slot, or may have one. */
const hasSlot = ({ id, throttle }: Attempt): boolean =>
  throttle?.value.reservations.some(reservation => reservation.id === id) === true;

/** Writes the throttle of an attempt by version. Returns false after a conflict. Without a throttle does a read. */
async function save(attempt: Attempt, next: Throttle, { throttles, users, rules }: AuthDeps): Promise<boolean> {
  if (attempt.throttle === undefined) {
    await users.findNone(attempt.id);
    return true;
  }
  const saved = await throttles.save(attempt.throttle, next, throttleExpiry(next, rules.throttle));
  attempt.throttle = saved ?? attempt.throttle;
  return saved !== undefined;
}

/** Writes the throttle unchanged, which takes the time of a real write. Without a throttle does a read. */
export const padTiming = (attempt: Attempt, deps: AuthDeps): Promise<unknown> =>
  save(attempt, attempt.throttle?.value ?? noFailures, deps);

async function readAgain(attempt: Attempt, deps: AuthDeps): Promise<void> {
  if (attempt.throttle === undefined) return;
  attempt.throttle = await readThrottle(attempt.throttle.key, deps);
}

/** Writes the end of an attempt into its throttle. Keeps what other attempts have written in the meantime. */
async function writeEnd(attempt: Attempt, end: AttemptEnd, deps: AuthDeps): Promise<void> {
  const ownerId = attempt.throttle?.ownerId;
  for (;;) {
    const { value = noFailures } = attempt.throttle ?? {};
    if (await save(attempt, endAttempt(value, attempt.id, end, deps.now(), deps.rules.throttle), deps)) return;
    await readAgain(attempt, deps);
    // The name has another owner, or none any more, whose throttle has nothing of this attempt.
    if (attempt.throttle?.ownerId !== ownerId) return;
    if (end.counts === "nothing" && !hasSlot(attempt)) return;
  }
}

/**
 * Ends an attempt with a decision: releases its slot and counts the result. A success is also subtracted from the count
 * of the address. `end` has a refusal unless the attempt is granted.
 */
export async function concludeAttempt(attempt: Attempt, end: AttemptEnd, deps: AuthDeps): Promise<void> {
  await Promise.all([
    writeEnd(attempt, end, deps),
    end.counts === "success" && attempt.address && uncountAddress(attempt, attempt.address, deps),
    attempt.nameThrottle && end.refusal && recordRefusalOnName(attempt.nameThrottle, end.refusal, deps),
  ]);
}

/**
 * Records the reason of a refused attempt on a device also in the throttle of the username, where administrators look.
 * It does not count there. After a conflict the newer row stays.
 */
async function recordRefusalOnName(throttle: ThrottleState, refusal: Refusal, deps: AuthDeps): Promise<void> {
  const next = { ...throttle.value, lastRefusal: { at: deps.now(), ...refusal } };
  const saving = deps.throttles.save(throttle, next, throttleExpiry(next, deps.rules.throttle));
  await warnOnError("refusal_not_recorded", saving, deps);
}

/** The outcome of an authentication, for its audit event. */
export interface Outcome {
  readonly outcome: "granted" | "refused" | "undecided";
  /** Present unless the outcome is `granted`. */
  readonly reason?: string | undefined;
}

/**
 * Ends an attempt that failed with an error: the caller learned nothing about a credential, so it does not count.
 * Returns its outcome.
 */
export async function withdraw(error: unknown, attempt: Attempt, deps: AuthDeps): Promise<Outcome> {
  const outcome = outcomeOfError(error);
  const nothing = { counts: "nothing" } as const;
  await Promise.all([
    hasSlot(attempt) && warnOnError("attempt_not_withdrawn", writeEnd(attempt, nothing, deps), deps),
    outcome.outcome === "undecided" && attempt.address && uncountAddress(attempt, attempt.address, deps),
  ]);
  return outcome;
}

/**
 * Returns the outcome of an authentication that failed with an error: `refused` while the username or address must
 * wait, else `undecided`, also if no slot was free or the host is overloaded.
 */
export function outcomeOfError(error: unknown): Outcome {
  const { kind, reason } = error instanceof Fault ? error : { kind: "internal", reason: undefined };
  if (reason === "busy" || reason === "overloaded") return { outcome: "undecided", reason };
  return { outcome: kind === "throttled" ? "refused" : "undecided", reason: kind };
}
