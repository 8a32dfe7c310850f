import { Fault } from "../../fault.ts";
import { between, type Instant, plus } from "../../time.ts";
import type { AuthDeps } from "../deps.ts";
import {
  recordFailure,
  recordSuccess,
  reserve,
  type Throttle,
  throttleExpiry,
  withdrawReservation,
} from "../model/throttle.ts";
import type { SignInState, ThrottleState, UserRef } from "../store.ts";

/** A sign-in attempt that has a slot in the throttle row (A12). */
export interface ReservedAttempt {
  readonly userRef: UserRef;
  /** Id of the reservation. */
  readonly slot: string;
  readonly reserved: ThrottleState;
}

interface Reserving<T> {
  readonly userRef: UserRef;
  /** As the caller has read it. */
  readonly state: SignInState | undefined;
  /** Starts in parallel with the reservation; its result or error is in `evidence` of the returned value. */
  readonly read: (state: SignInState) => Promise<T>;
  /**
   * Reports whether the slot may be reserved. Called with the attempt before and after each write, and with undefined after a read that did
   * not find the slot. A write without a response may have reserved it, so the caller withdraws the last reported attempt if it ends with an error.
   */
  readonly onReservation: (attempt: ReservedAttempt | undefined) => void;
}

/** No slot became free in time. Nothing was checked, so nothing failed. */
export class BusyFault extends Fault {
  constructor() {
    super("throttled", "Too many attempts at the same time. Try again in a moment.", { retryAfter: 1 });
  }
}

/**
 * Reserves a slot before anything is checked, so that parallel guesses cannot pass together. Returns undefined for an
 * id that was never issued.
 * Throws Fault `throttled` while the username must wait, `BusyFault` if no slot becomes free in time.
 */
export async function reserveAttempt<T>(
  { userRef, state: first, read, onReservation }: Reserving<T>,
  deps: AuthDeps,
): Promise<{ readonly attempt: ReservedAttempt; readonly evidence: Promise<T> } | undefined> {
  const slot = Buffer.from(deps.random(12)).toString("base64url");
  const deadline = plus(deps.now(), deps.rules.slotWaitMs);
  /** Waits at most until the deadline, so that the last look is at the end of the time, not before it. */
  const pause = async (ms: number) => {
    const leftMs = between(deps.now(), deadline);
    if (leftMs <= 0) throw new BusyFault();
    await deps.sleep(Math.min(ms, leftMs));
  };
  let conflicts = 0;
  let waits = 0;
  let state = first;
  while (state !== undefined) {
    const result = reserve(state.throttle.value, slot, deps.now(), deps.rules.throttle);
    if (result.outcome === "waiting") throw throttled(result.retryAfter);
    if (result.outcome === "reserved") {
      const evidence = read(state);
      // If the reservation fails, the evidence is never awaited: its rejection must not end the process.
      evidence.catch(() => {});
      const { throttle } = state;
      onReservation({ userRef, slot, reserved: throttle });
      const reserved = await save(throttle, result.next, deps);
      if (reserved !== undefined) {
        const attempt = { userRef, slot, reserved };
        onReservation(attempt);
        return { attempt, evidence };
      }
      conflicts += 1;
      await pause(jitterMs(Math.min(10 * 2 ** conflicts, 500), deps));
    } else {
      // The pause grows: hundreds of attempts at one username must not occupy the storage account with looks for a slot.
      const pauseMs = Math.min(100 * 2 ** waits, 1_000);
      waits += 1;
      await pause(pauseMs / 2 + jitterMs(pauseMs / 2, deps));
    }
    state = await deps.users.signInState(userRef);
    if (!hasSlot(state?.throttle, slot)) onReservation(undefined);
  }
  return undefined;
}

const hasSlot = (throttle: ThrottleState | undefined, slot: string): boolean =>
  throttle?.value.reservations.some(({ id }) => id === slot) === true;

/** Returns a random number of milliseconds below `limitMs`, so that attempts that want the same row spread out. */
function jitterMs(limitMs: number, { random }: Pick<AuthDeps, "random">): number {
  const [share = 0] = random(1);
  return Math.floor((share * limitMs) / 256);
}

/** The attempt is refused until its username or address may try again. */
export const throttled = (retryAfter: number): Fault =>
  new Fault("throttled", "Too many failed attempts. Try again later.", { retryAfter });

const save = (
  throttle: ThrottleState,
  next: Throttle,
  { throttles, rules }: AuthDeps,
  login?: Parameters<AuthDeps["throttles"]["save"]>[3],
) => throttles.save(throttle, next, throttleExpiry(next, rules.throttle), login);

/** Writes the throttle row unchanged, which takes the time of a real write. Returns the attempt with the new version. */
export async function padTiming(attempt: ReservedAttempt, deps: AuthDeps): Promise<ReservedAttempt> {
  const reserved = await save(attempt.reserved, attempt.reserved.value, deps);
  return reserved === undefined ? attempt : { ...attempt, reserved };
}

/**
 * Ends an attempt. A success clears the failures, a failure turns the slot into one, and a withdrawn attempt only releases
 * its slot. Keeps what other attempts have written in the meantime.
 * @param login recorded in the same write, if the throttle is that of the username
 */
export async function concludeAttempt(
  { userRef, slot, reserved }: ReservedAttempt,
  outcome: "succeeded" | "failed" | "withdrawn",
  deps: AuthDeps,
  login?: { readonly userId: number; readonly at: Instant },
): Promise<void> {
  const { now, users, rules } = deps;
  const after = (throttle: Throttle): Throttle => {
    if (outcome === "withdrawn") return withdrawReservation(throttle, slot);
    return (outcome === "succeeded" ? recordSuccess : recordFailure)(throttle, slot, now(), rules.throttle);
  };
  let current: ThrottleState | undefined = reserved;
  while (current !== undefined) {
    if ((await save(current, after(current.value), deps, login)) !== undefined) return;
    current = (await users.signInState(userRef))?.throttle;
    // The name has another owner, or none any more, whose throttle has nothing of this attempt.
    if (current?.userId !== reserved.userId) return;
    if (outcome === "withdrawn" && !hasSlot(current, slot)) return;
  }
}
