import { type Result, toResult } from "../../platform/async/to-result.ts";
import { PeerFailure } from "../../platform/peers/peer-failure.ts";
import { earliest, type Instant } from "../../platform/time.ts";
import type { ConnectorDeps } from "../deps.ts";
import { isNoToken } from "../peers/access-token.ts";
import type { Run } from "./run.ts";
import type { Outcome } from "./step.ts";

/** Failed calls in a row after which a run leaves the rest of a peer's work to the next run. */
const maxFailures = 3;

const newPeer = { failures: 0, failedReads: 0, isStopped: false };

/** Returns whether the run must not call the peer: its circuit breaker has stopped the calls, or it has answered 429. */
export const isStopped = (
  peer: string,
  { peers }: Run,
  { paces, now }: Pick<ConnectorDeps, "paces" | "now">,
): boolean => peers.get(peer)?.isStopped === true || (paces.of(peer).pausedUntil ?? "") > now();

/**
 * Returns whether the run must leave work that calls the peer. If the peer has answered 429, also records the end of its
 * pause, so that the run can continue with the work then.
 */
export function mustLeave(peer: string, run: Run, deps: Pick<ConnectorDeps, "paces" | "now">): boolean {
  if (!isStopped(peer, run, deps)) return false;
  const { pausedUntil } = deps.paces.of(peer);
  if (pausedUntil !== undefined && run.peers.get(peer)?.isStopped !== true) run.pauses.set(peer, pausedUntil);
  return true;
}

/**
 * Returns the earliest end of the recorded pauses; undefined if there is none. It may be past. Also clears them: a pause
 * that is not over is recorded again when work is left again.
 */
export function takeEndOfPauses({ pauses }: Run): Instant | undefined {
  const until = earliest(...pauses.values());
  pauses.clear();
  return until;
}

/**
 * Makes a call as soon as fewer calls to its peer are in progress than its limit allows. Returns `left` without the call
 * if the run must not call the peer when its turn comes, or if `mayStart` returns false.
 */
export function callInTurn<T>(
  peer: string,
  run: Run,
  deps: Pick<ConnectorDeps, "paces" | "now">,
  { mayStart, call }: { readonly mayStart: () => boolean; readonly call: () => Promise<T> },
): Promise<T | "left"> {
  if (!run.peers.has(peer)) run.peers.set(peer, newPeer);
  return deps.paces.of(peer).run(async () => (mayStart() && !mustLeave(peer, run, deps) ? call() : "left"));
}

/** Makes a call, and learns from its result (`learnFromCall`). Returns its value or its error. */
export async function callAndLearn<T>(
  peer: string,
  run: Run,
  deps: Pick<ConnectorDeps, "paces" | "now" | "log">,
  call: () => Promise<T>,
): Promise<Result<T>> {
  const startedAt = deps.now();
  const ended = await toResult(call());
  const failure = "error" in ended && ended.error instanceof PeerFailure ? ended.error : undefined;
  learnFromCall({ peer, startedAt, failure }, run, deps);
  return ended;
}

/** A call that has ended. */
interface EndedCall {
  readonly peer: string;
  readonly startedAt: Instant;
  readonly failure?: PeerFailure | undefined;
  /** Whether the pre-registration API does not accept the connector. */
  readonly isRefused?: Outcome["isRefused"];
  /** Whether it was a look-up before another call. Its time does not change the limit: look-ups and other calls take different times. */
  readonly isRead?: boolean;
}

/** Adapts the limit of the peer to a call that has ended, and stops the calls of the run to a peer that has failed. */
export function learnFromCall(
  { peer, startedAt, failure, isRefused = false, isRead = false }: EndedCall,
  run: Run,
  deps: Pick<ConnectorDeps, "paces" | "now" | "log">,
): void {
  const wasStopped = isStopped(peer, run, deps);
  const pace = deps.paces.of(peer);
  if (!isRead || failure !== undefined) pace.learn(startedAt, failure);
  const before = run.peers.get(peer) ?? newPeer;
  const counter = isRead ? "failedReads" : "failures";
  const failures = isFailureOfPeer(failure) ? before[counter] + 1 : 0;
  const isPeerStopped = before.isStopped || isRefused || failures >= maxFailures;
  run.peers.set(peer, { ...before, [counter]: failures, isStopped: isPeerStopped });
  if (isRefused && !before.isStopped) deps.log.error("enrollment_refused", {});
  else if (!wasStopped && isStopped(peer, run, deps))
    deps.log.warn("peer_stopped", { peer, ...(pace.pausedUntil && { until: pace.pausedUntil }), error: failure });
}

/** Returns whether a call failed because of the peer. An answer about one user or one request does not count. */
function isFailureOfPeer(failure: PeerFailure | undefined): boolean {
  if (failure === undefined || failure.status === 429) return false;
  // 403 is about one user, but not if there is no access token. A 404 without the peer's own error code may come from a
  // proxy.
  if (failure.kind === "unauthorized") return failure.status !== 403 || isNoToken(failure);
  return failure.passing || (failure.kind === "missing" && failure.code === undefined);
}

/**
 * Returns the number of requests that the run works on at once: the highest limit of the peers that it has called.
 */
export const requestsAtOnce = ({ peers }: Run, { paces, concurrency }: ConnectorDeps): number =>
  peers.size === 0 ? concurrency : Math.max(...[...peers.keys()].map(peer => paces.of(peer).limit));
