import type { PeerFailure } from "../../platform/peer-failure.ts";
import { type Instant, plus } from "../../platform/time.ts";
import type { ConnectorDeps } from "../deps.ts";
import { type LoadedRequest, securityKeyOf } from "../model/loaded-request.ts";
import { releaseLease } from "../model/next-due.ts";
import type { CredentialRequest } from "../model/request.ts";
import type { SecurityKey } from "../model/security-key.ts";
import { changeSecurityKey } from "./change-request.ts";
import { callInTurn, isPastDeadline, newLease, type Run, recordCall } from "./run.ts";

/** One piece of work on a security key: its outcome, or its next call. Only `runStep` writes. */
export type Step = StepOutcome | PeerRead | PeerCall;

/** What the call that led to a step came to. The calls of the run to its peer adapt to it. */
interface CallResult {
  /** Set if no call was needed: nothing is learned about the peer then. */
  readonly isWithoutCall?: boolean | undefined;
  /** Why the call failed. */
  readonly failure?: PeerFailure | undefined;
  /** Whether the pre-registration API does not accept the connector. The run makes no more calls to it then. */
  readonly isRefused?: boolean | undefined;
}

/** The outcome of a step. */
export interface StepOutcome extends CallResult {
  /** The change of the security key of a request. After a conflict it is applied again, to both as read again. */
  readonly change: (key: SecurityKey, request: CredentialRequest) => SecurityKey;
}

/** A call to a peer that changes nothing there. It needs no lease. */
interface PeerRead extends CallResult {
  /** The name of the peer, by which its calls are limited. */
  readonly peer: string;
  /** Makes the call. Returns a function that prepares the next step, and why the call failed. */
  readonly read: () => Promise<{ readonly next: () => Promise<Step>; readonly failure?: PeerFailure | undefined }>;
  /**
   * Returns the next step if the run must not call the peer. Without it, or if it returns none, the step is deferred.
   */
  readonly withoutRead?: () => Promise<Step | undefined>;
}

/** A call to a peer that may change something there. */
export interface PeerCall extends CallResult {
  /** The name of the peer, by which its calls are limited. */
  readonly peer: string;
  /** The change that records the call before it is made, in the same write as the renewed lease. */
  readonly intent: (key: SecurityKey) => SecurityKey;
  /** Milliseconds that the call may take, retries included. The lease outlasts the call. */
  readonly timeLimitMs: number;
  /**
   * Makes the call.
   * @param key the security key as stored with the intent
   * @param notAfter the time after which the call must not start, because it could outlast the lease
   */
  readonly perform: (key: SecurityKey, notAfter: Instant) => Promise<Step>;
  /**
   * Returns the next step if the run must not call the peer. Without it, or if it returns none, the step is deferred.
   */
  readonly withoutCall?: () => Step | undefined;
}

/** A security key as this run read it. */
export interface KeyInRun {
  readonly loaded: LoadedRequest;
  readonly keyId: string;
  readonly run: Run;
}

/** The result of a step. */
export interface StepResult {
  readonly loaded: LoadedRequest;
  /**
   * Whether a call was deferred to a later run, because the time of the run was over when its turn came, or because the
   * run must not call its peer. Of earlier calls of the step only the intents are stored then: the next run repeats
   * them.
   */
  readonly isDeferred: boolean;
}

/**
 * Makes the calls of a step and saves the outcome. Each call that may change something is made right after its intent
 * was stored with a renewed lease (C15). Returns undefined if another run or request has changed the security key or
 * has its lease.
 * @param isMoreDue whether the run works on the security key after this step. Otherwise the write of the outcome
 * releases the lease
 */
export async function runStep(
  { loaded, keyId, run }: KeyInRun,
  start: Step,
  isMoreDue: (key: SecurityKey) => boolean,
  deps: ConnectorDeps,
): Promise<StepResult | undefined> {
  let step = start;
  let current = loaded;
  let isDeferred = false;
  while ("peer" in step) {
    const made = await makeCall({ loaded: current, keyId, run }, step, current === loaded, deps);
    if (made === undefined) return undefined;
    const instead = made === "deferred" ? await stepWithoutCall(step, run, deps) : undefined;
    if (instead !== undefined) step = instead;
    else if (made === "deferred") {
      if (current === loaded) return { loaded, isDeferred: true };
      isDeferred = true;
      step = { change: key => key };
    } else {
      current = made.loaded;
      step = await made.next();
    }
  }
  const { change } = step;
  const finish = (key: SecurityKey) => (isMoreDue(key) ? key : releaseLease(key, deps));
  const finished: typeof change = (key, request) => finish(change(key, request));
  const saved = await changeSecurityKey(current, keyId, run.owner, finished, deps);
  return saved && { loaded: saved, isDeferred };
}

/** The `isMoreDue` of the last step on a security key. */
export const nothingMore = (): boolean => false;

/** Returns the step to continue with if the run must not call the peer, but its time is not over. */
async function stepWithoutCall(step: PeerRead | PeerCall, run: Run, deps: ConnectorDeps): Promise<Step | undefined> {
  if (isPastDeadline(run, deps)) return undefined;
  return "read" in step ? step.withoutRead?.() : step.withoutCall?.();
}

/**
 * Makes the call as soon as its peer takes another one: the lease is renewed only then, because a wait would use it up.
 * Returns undefined as `renewLease` does.
 * @param isFirst whether it is the first call of the step: it is not made when the time of the run is over, the others
 * are
 */
function makeCall(
  key: KeyInRun,
  step: PeerRead | PeerCall,
  isFirst: boolean,
  deps: ConnectorDeps,
): Promise<{ readonly loaded: LoadedRequest; readonly next: () => Step | Promise<Step> } | "deferred" | undefined> {
  const { peer } = step;
  const mayStart = () => !isFirst || !isPastDeadline(key.run, deps);
  const call = async () => {
    if ("read" in step) {
      const { next, failure } = await step.read();
      recordCall({ peer, failure, isRead: true }, key.run, deps);
      return { loaded: key.loaded, next };
    }
    const leased = await renewLease(key, step, deps);
    if (leased === undefined) return undefined;
    const next = await step.perform(securityKeyOf(leased.loaded, key.keyId), leased.notAfter);
    const { failure, isRefused, isWithoutCall } = next;
    if (isWithoutCall !== true) recordCall({ peer, failure, isRefused }, key.run, deps);
    return { loaded: leased.loaded, next: () => next };
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
