import { type Instant, plus } from "../../time.ts";
import type { ConnectorDeps, LoadedRequest } from "../deps.ts";
import type { SecurityKey } from "../model/request.ts";
import { changeSecurityKey, securityKeyOf } from "./change-security-key.ts";
import { releaseLease } from "./next-due.ts";
import { isOver, newLease, paceOf, type Run } from "./run.ts";
import type { CircuitBreaker, PeerCall, Step } from "./step.ts";

/** A security key as this run read it. */
export interface KeyInRun {
  readonly loaded: LoadedRequest;
  readonly keyId: string;
  readonly run: Run;
}

interface Options {
  /** Whether the run works on the security key after this step. Otherwise the write of the outcome releases the lease. */
  readonly isMoreDue: (key: SecurityKey) => boolean;
  /** Called before the next call to the peer begins, if the step has tripped its circuit breaker. */
  readonly onTripped?: (tripped: CircuitBreaker) => void;
}

/**
 * Makes the calls of a step, each right after its intent was stored with a renewed lease, and saves the outcome (C15). Returns the saved
 * request; undefined if another run or request has changed the security key or has its lease, or if the time of the run
 * was over after the wait for the first call.
 */
export async function runStep(
  { loaded, keyId, run }: KeyInRun,
  start: Step,
  { isMoreDue, onTripped }: Options,
  deps: ConnectorDeps,
): Promise<LoadedRequest | undefined> {
  let step = start;
  let current = loaded;
  while ("perform" in step) {
    // A step that was started in time is finished, unless it had to wait for the turn of its first call.
    const readyAt = deps.now();
    const mayStart = () => step !== start || deps.now() === readyAt || !isOver(run, deps);
    const made = await makeCall({ loaded: current, keyId, run }, step, { mayStart, onTripped }, deps);
    if (made === undefined) return undefined;
    current = made.loaded;
    step = made.next;
  }
  const { change } = step;
  const finish = (key: SecurityKey) => (isMoreDue(key) ? key : releaseLease(key, deps));
  return changeSecurityKey(current, keyId, run.owner, key => finish(change(key)), deps);
}

/**
 * Makes the call as soon as its peer takes another one: the lease is renewed only then, because a wait would use it up.
 * The wait can also use up the time of the run, and a call in between can trip the circuit breaker.
 * Returns undefined as `renewLease` does, and for a call that may not start.
 */
function makeCall(
  key: KeyInRun,
  call: PeerCall,
  { mayStart, onTripped }: { readonly mayStart: () => boolean; readonly onTripped: Options["onTripped"] },
  deps: ConnectorDeps,
): Promise<{ readonly loaded: LoadedRequest; readonly next: Step } | undefined> {
  const pace = paceOf(call.peer, key.run, deps);
  return pace.run(async () => {
    const outcome = call.instead?.();
    if (outcome !== undefined) return { loaded: key.loaded, next: outcome };
    if (!mayStart()) return undefined;
    const leased = await renewLease(key, call, deps);
    if (leased === undefined) return undefined;
    const startedAt = deps.now();
    const next = await call.perform(securityKeyOf(leased.loaded, key.keyId), leased.notAfter);
    if (!("perform" in next)) {
      pace.learn(startedAt, next.failure);
      if (next.tripped !== undefined) onTripped?.(next.tripped);
    }
    return { loaded: leased.loaded, next };
  });
}

/**
 * Takes or renews the lease, and stores the intent of the call in the same write. Returns undefined if the security key was changed
 * meanwhile or the call could outlast the lease: then the call must not start.
 */
async function renewLease(
  { loaded, keyId, run }: KeyInRun,
  { intent, timeLimitMs }: PeerCall,
  deps: ConnectorDeps,
): Promise<{ readonly loaded: LoadedRequest; readonly notAfter: Instant } | undefined> {
  const lease = newLease(run, deps.now(), deps.intervals);
  const saved = await deps.requests.save(loaded, { keys: [{ ...intent(securityKeyOf(loaded, keyId)), lease }] });
  const notAfter = plus(lease.until, -timeLimitMs);
  return saved === undefined || deps.now() > notAfter ? undefined : { loaded: saved, notAfter };
}
