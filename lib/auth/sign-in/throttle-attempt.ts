import { Fault } from "../../fault.ts";
import { plus } from "../../time.ts";
import type { AuthDeps } from "../deps.ts";
import { failed, reserve, succeeded, type Throttle, throttleEnds, withdrawn } from "../model/throttle.ts";
import type { SignInState, ThrottleState, UserRef } from "../store.ts";

/** An attempt that has its place in the throttle row (decision A12). */
export interface Attempt {
  readonly whom: UserRef;
  readonly place: string;
  readonly reserved: ThrottleState;
}

/** How long an attempt waits before it looks for a free place again. Milliseconds. */
const pauseMs = 100;

/** No place came free in time: nothing was checked, and nothing failed. */
export class Busy extends Fault {
  constructor() {
    super("throttled", "Too many attempts at the same time. Try again in a moment.", { retryAfter: 1 });
  }
}

/**
 * Reserves the attempt's place before anything is checked, so that parallel guesses can not pass together (decision A12).
 * Undefined for an id that never was given.
 * Throws Fault `throttled` while the name waits, `Busy` when no place comes free in time.
 * @param standing of `whom`, as read before
 * @param read begins beside the reservation; whether it succeeds is told by `alongside`, when the attempt has its place
 */
export async function beginAttempt<T>(
  { whom, standing: first }: { readonly whom: UserRef; readonly standing: SignInState | undefined },
  deps: AuthDeps,
  read: (standing: SignInState) => Promise<T>,
): Promise<{ readonly attempt: Attempt; readonly alongside: Promise<T> } | undefined> {
  const place = Buffer.from(deps.random(12)).toString("base64url");
  const patience = plus(deps.now(), deps.rules.busyMs);
  let losses = 0;
  let standing = first;
  while (standing !== undefined) {
    const wanted = reserve(standing.throttle.value, place, deps.now(), deps.rules.throttle);
    if (wanted.outcome === "waiting") throw throttled(wanted.retryAfter);
    if (wanted.outcome === "reserved") {
      const alongside = read(standing);
      // Awaited by whoever holds the place; where it was lost, nobody asks any more.
      alongside.catch(() => {});
      const reserved = await save(standing.throttle, wanted.next, deps);
      if (reserved !== undefined) return { attempt: { whom, place, reserved }, alongside };
      losses += 1;
      await deps.sleep(spread(losses, deps));
    } else await deps.sleep(pauseMs);
    if (deps.now() > patience) throw new Busy();
    standing = await deps.users.standing(whom);
  }
  return undefined;
}

/** Attempts that met at one row meet less often when each waits for a time of its own, longer with each loss. Milliseconds. */
function spread(losses: number, { random }: Pick<AuthDeps, "random">): number {
  const [share = 0] = random(1);
  return Math.floor((share * Math.min(10 * 2 ** losses, 500)) / 256);
}

const throttled = (retryAfter: number): Fault =>
  new Fault("throttled", "Too many failed attempts. Try again later.", { retryAfter });

const save = (throttle: ThrottleState, next: Throttle, { throttles, rules }: AuthDeps) =>
  throttles.save(throttle, next, throttleEnds(next, rules.throttle));

/** Writes the attempt's place once more as it is, which changes nothing. */
export async function padTiming(attempt: Attempt, deps: AuthDeps): Promise<Attempt> {
  const reserved = await save(attempt.reserved, attempt.reserved.value, deps);
  return reserved === undefined ? attempt : { ...attempt, reserved };
}

/**
 * Ends an attempt: a success clears the failures, a wrong answer turns its place into one, an attempt that was neither gives its
 * place back. What other attempts wrote meanwhile is kept.
 */
export async function endAttempt(
  { whom, place, reserved }: Attempt,
  outcome: "succeeded" | "failed" | "withdrawn",
  deps: AuthDeps,
): Promise<void> {
  const { now, users, rules } = deps;
  const after = (throttle: Throttle): Throttle => {
    if (outcome === "withdrawn") return withdrawn(throttle, place);
    return (outcome === "succeeded" ? succeeded : failed)(throttle, place, now(), rules.throttle);
  };
  let current: ThrottleState | undefined = reserved;
  while (current !== undefined) {
    if ((await save(current, after(current.value), deps)) !== undefined) return;
    current = (await users.standing(whom))?.throttle;
  }
}
