import { orFailure, PeerFailure } from "../../platform/peers/peer-failure.ts";
import { earliest, type Instant } from "../../platform/time.ts";
import type { ConnectorDeps } from "../deps.ts";
import { isNoToken } from "../peers/access-token.ts";
import { isPastDeadline, type Run } from "./run.ts";
import type { StepOutcome } from "./step.ts";

/** Failed calls in a row after which a run defers the rest of a peer's work to the next run. */
const maxFailures = 3;

type Limits = Pick<ConnectorDeps, "peerLimits" | "now">;

/** Returns whether the run must not call the peer: the run has stopped its calls, or the peer has answered 429. */
export const isStopped = (peer: string, { peers }: Run, { peerLimits, now }: Limits): boolean =>
  peers.get(peer)?.isStopped === true || (peerLimits.of(peer).pausedUntil ?? "") > now();

/**
 * Returns whether the run must defer work that calls the peer. If the peer has answered 429, also records the end of
 * its pause, so that the run can continue with the work then.
 */
export function mustDefer(peer: string, run: Run, deps: Limits): boolean {
  if (!isStopped(peer, run, deps)) return false;
  const { pausedUntil } = deps.peerLimits.of(peer);
  if (pausedUntil !== undefined && run.peers.get(peer)?.isStopped !== true) run.pauses.set(peer, pausedUntil);
  return true;
}

/**
 * Returns the earliest end of the recorded pauses; undefined if there is none. It may be past. Also clears them: a
 * pause that is not over is recorded again when work is deferred again.
 */
export function takeEndOfPauses({ pauses }: Run): Instant | undefined {
  const until = earliest(...pauses.values());
  pauses.clear();
  return until;
}

/**
 * Makes a call as soon as the limit of its peer allows. Returns `deferred` without the call if the run must not call
 * the peer when its turn comes, or if `mayStart` returns false: by default if the time of the run is over.
 */
export const callInTurn = <T>(
  peer: string,
  run: Run,
  deps: Limits,
  call: () => Promise<T>,
  mayStart: () => boolean = () => !isPastDeadline(run, deps),
): Promise<T | "deferred"> =>
  deps.peerLimits.of(peer).run(async () => (mayStart() && !mustDefer(peer, run, deps) ? call() : "deferred"));

/** Makes a call, and records its result for the run (`recordCall`). Returns its value or the failure of the peer. */
export async function callAndRecord<T>(
  peer: string,
  run: Run,
  deps: Limits & Pick<ConnectorDeps, "log">,
  call: () => Promise<T>,
): Promise<T | PeerFailure> {
  const result = await orFailure(call());
  recordCall({ peer, failure: result instanceof PeerFailure ? result : undefined }, run, deps);
  return result;
}

/** A call that has ended. */
interface EndedCall {
  readonly peer: string;
  readonly failure?: PeerFailure | undefined;
  /** Whether the pre-registration API does not accept the connector. */
  readonly isRefused?: StepOutcome["isRefused"];
  /** Whether it was a look-up before another call. A peer that answers look-ups may still fail all other calls. */
  readonly isRead?: boolean;
}

/** Stops the run's calls to a peer that has failed, and all of the host to a peer that has answered 429. */
export function recordCall(
  { peer, failure, isRefused = false, isRead = false }: EndedCall,
  run: Run,
  deps: Limits & Pick<ConnectorDeps, "log">,
): void {
  const wasStopped = isStopped(peer, run, deps);
  const limit = deps.peerLimits.of(peer);
  limit.pauseAfter(failure);
  const before = run.peers.get(peer) ?? { failures: 0, isStopped: false };
  const failuresAfterSuccess = isRead ? before.failures : 0;
  const failures = isFailureOfPeer(failure) ? before.failures + 1 : failuresAfterSuccess;
  run.peers.set(peer, { failures, isStopped: before.isStopped || isRefused || failures >= maxFailures });
  if (isRefused && !before.isStopped) deps.log.error("enrollment_refused", {});
  else if (!wasStopped && isStopped(peer, run, deps)) {
    const { pausedUntil: until } = limit;
    deps.log.warn("peer_stopped", { peer, ...(until && { until }), error: failure });
  }
}

/** Returns whether a call failed because of the peer. A response about one user or one request does not count. */
function isFailureOfPeer(failure: PeerFailure | undefined): boolean {
  if (failure === undefined || failure.status === 429) return false;
  // 403 is about one user, but not if there is no access token.
  if (failure.kind === "unauthorized") return failure.status !== 403 || isNoToken(failure);
  return failure.isTransient || (failure.kind === "missing" && !failure.isUnknownThere);
}
