import type { PeerFailure } from "../../platform/peer-failure.ts";
import { type Instant, plus } from "../../platform/time.ts";
import type { ConnectorDeps } from "../deps.ts";
import { type LoadedRequest, securityKeyOf } from "../model/loaded-request.ts";
import { releaseLease } from "../model/next-due.ts";
import type { CredentialRequest } from "../model/request.ts";
import type { SecurityKey } from "../model/security-key.ts";
import { changeSecurityKey } from "./change-request.ts";
import { callInTurn, isPastDeadline, newLease, type Run, recordCall } from "./run.ts";

/**
 * One piece of work on a security key, such as an activation: its outcome, or its next call, whose end names the step
 * after it. An operation returns such values and writes nothing; `runStep` does the work in this order:
 *
 * 1. It waits for the call's turn at its peer. A run that must not call the peer takes the step `otherwise`, or defers
 *    the work to a later run.
 * 2. Before a `PeerCall` it writes the security key with the call's intent and a renewed lease, so that after a crash
 *    the next run knows that the call may have been made (C15).
 * 3. It makes the call, which starts only while the lease outlasts it, and records its failure for the run.
 * 4. It continues with the next step, until that is an outcome. The write of the outcome also releases the lease.
 */
export type Step = StepOutcome | PeerRead | PeerCall;

/** The outcome of a step. */
export interface StepOutcome {
  /** The change of the security key of a request. After a conflict it is applied again, to both as read again. */
  readonly change: (key: SecurityKey, request: CredentialRequest) => SecurityKey;
}

interface StepCall {
  /** The name of the peer, by which its calls are limited. */
  readonly peer: string;
  /**
   * Returns the next step if the run must not call the peer and its time is not over. Without it, or if it returns none,
   * the step is deferred.
   */
  readonly otherwise?: () => Step | undefined | Promise<Step | undefined>;
}

/** A call to a peer that changes nothing there. It needs no lease. */
interface PeerRead extends StepCall {
  readonly read: () => Promise<Pick<CallEnd, "next" | "failure">>;
}

/** A call to a peer that may change something there. */
export interface PeerCall extends StepCall {
  /** The change that records the call before it is made, in the same write as the renewed lease. */
  readonly intent: (key: SecurityKey) => SecurityKey;
  /** Milliseconds that the call may take, retries included. The lease outlasts the call. */
  readonly timeLimitMs: number;
  /**
   * Makes the call.
   * @param key the security key as stored with the intent
   * @param notAfter the time after which the call must not start, because it could outlast the lease
   */
  readonly perform: (key: SecurityKey, notAfter: Instant) => Promise<CallEnd>;
}

/** What a call came to. The later calls of the run to its peer depend on it. */
export interface CallEnd {
  /** Returns the next step. Called when another call may take its turn at the peer. */
  readonly next: () => Step | Promise<Step>;
  /** Why the call failed. */
  readonly failure?: PeerFailure | undefined;
  /** Whether the pre-registration API does not accept the connector. The run makes no more calls to it then. */
  readonly isUnauthorized?: boolean | undefined;
  /** Set if no call was needed: nothing is learned about the peer then. */
  readonly isWithoutCall?: boolean | undefined;
}

/** A security key as this run read it. */
interface KeyInRun {
  readonly loaded: LoadedRequest;
  readonly keyId: string;
  readonly run: Run;
}

/** The result of a step. */
interface StepResult {
  readonly loaded: LoadedRequest;
  /**
   * Whether a call was deferred to a later run, because the time of the run was over when its turn came, or because the
   * run must not call its peer. Of earlier calls of the step only the intents are stored then: the next run repeats
   * them.
   */
  readonly isDeferred: boolean;
}

/** The outcome that changes nothing. Its write releases the lease. */
export const unchanged: StepOutcome = { change: key => key };

/**
 * Makes the calls of a step and saves the outcome. Returns undefined if another run or request has changed the security
 * key or has its lease.
 * @param isMoreDue whether the run works on the security key after this step, and keeps the lease. False by default
 */
export async function runStep(
  { loaded, keyId, run }: KeyInRun,
  start: Step,
  deps: ConnectorDeps,
  isMoreDue: (key: SecurityKey) => boolean = () => false,
): Promise<StepResult | undefined> {
  let step = start;
  let current = loaded;
  let isDeferred = false;
  while ("peer" in step) {
    const made = await makeCall({ loaded: current, keyId, run }, step, current !== loaded, deps);
    if (made === undefined) return undefined;
    if (made !== "deferred") {
      current = made.loaded;
      step = await made.next();
      continue;
    }
    const otherwise = isPastDeadline(run, deps) ? undefined : await step.otherwise?.();
    if (otherwise === undefined && current === loaded) return { loaded, isDeferred: true };
    isDeferred ||= otherwise === undefined;
    step = otherwise ?? unchanged;
  }
  const { change } = step;
  const finish = (key: SecurityKey) => (isMoreDue(key) ? key : releaseLease(key, deps));
  const finished: typeof change = (key, request) => finish(change(key, request));
  const saved = await changeSecurityKey(current, keyId, run.owner, finished, deps);
  return saved && { loaded: saved, isDeferred };
}

/**
 * Makes the call as soon as its peer takes another one: the lease is renewed only then, because a wait would use it up.
 * Returns undefined as `renewLease` does.
 * @param hasIntent whether this step has stored an intent: if not, the call is not made when the time of the run is over
 */
function makeCall(
  key: KeyInRun,
  step: PeerRead | PeerCall,
  hasIntent: boolean,
  deps: ConnectorDeps,
): Promise<{ readonly loaded: LoadedRequest; readonly next: CallEnd["next"] } | "deferred" | undefined> {
  const { peer } = step;
  const mayStart = () => hasIntent || !isPastDeadline(key.run, deps);
  const call = async () => {
    if ("read" in step) {
      const { next, failure } = await step.read();
      recordCall({ peer, failure, isRead: true }, key.run, deps);
      return { loaded: key.loaded, next };
    }
    const leased = await renewLease(key, step, deps);
    if (leased === undefined) return undefined;
    const { isWithoutCall, next, ...ended } = await step.perform(
      securityKeyOf(leased.loaded, key.keyId),
      leased.notAfter,
    );
    if (isWithoutCall !== true) recordCall({ peer, ...ended }, key.run, deps);
    return { loaded: leased.loaded, next };
  };
  return callInTurn(peer, key.run, deps, call, mayStart);
}

/**
 * Takes or renews the lease, and stores the intent of the call in the same write. Returns undefined if the security key
 * was changed meanwhile or the call could outlast the lease: then the call must not start.
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
