import type { PeerFailure } from "../../peers/peer-failure.ts";
import { earliest, type Instant } from "../../time.ts";
import type { ConnectorDeps } from "../deps.ts";
import { isNoToken } from "../http/access-token.ts";
import type { Run } from "./run.ts";

/** Failed calls in a row after which a run leaves the rest of a peer's work to the next run. */
const maxFailures = 3;

const newPeer = { failures: 0, failedReads: 0, isStopped: false };

/** Returns whether the run must not call the peer: it has failed, or it has asked to wait. */
export const isStopped = (
  peer: string,
  { peers }: Run,
  { paces, now }: Pick<ConnectorDeps, "paces" | "now">,
): boolean => peers.get(peer)?.isStopped === true || (paces.of(peer).pausedUntil ?? "") > now();

/**
 * Returns whether the run must leave work that calls the peer. Records the end of the wait if the peer has asked for one,
 * so that the run can continue with the work then.
 */
export function mustLeave(peer: string, run: Run, deps: Pick<ConnectorDeps, "paces" | "now">): boolean {
  if (!isStopped(peer, run, deps)) return false;
  const { pausedUntil } = deps.paces.of(peer);
  if (pausedUntil !== undefined && run.peers.get(peer)?.isStopped !== true) run.pauses.set(peer, pausedUntil);
  return true;
}

/**
 * Returns the first time at which a peer may be called again whose work the run has left; undefined if there is none. It
 * may be past. Also clears them: a peer that still waits is recorded again when its work is left again.
 */
export function takeEndOfPauses({ pauses }: Run): Instant | undefined {
  const until = earliest(...pauses.values());
  pauses.clear();
  return until;
}

/**
 * Makes a call as soon as its peer takes another one. Returns `left` without the call if the run must not call the peer
 * when its turn comes, or if `mayStart` says so.
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

/** A call that has ended. */
interface EndedCall {
  readonly peer: string;
  readonly startedAt: Instant;
  readonly failure?: PeerFailure | undefined;
  /** Whether the peer does not accept the connector. */
  readonly isRefused?: boolean | undefined;
  /** Whether it only read. The time that it took says nothing about the other calls. */
  readonly isRead?: boolean;
}

/** Adapts the number of calls at once, and stops the calls of the run to a peer that has failed. */
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
  const failures = isAway(failure) ? before[counter] + 1 : 0;
  const isPeerStopped = before.isStopped || isRefused || failures >= maxFailures;
  run.peers.set(peer, { ...before, [counter]: failures, isStopped: isPeerStopped });
  if (isRefused && !before.isStopped) deps.log.error("enrollment_refused", {});
  else if (!wasStopped && isStopped(peer, run, deps))
    deps.log.warn("peer_stopped", { peer, ...(pace.pausedUntil && { until: pace.pausedUntil }), error: failure });
}

/** Whether the peer did not do its work. An answer about one user or one request does not count. */
function isAway(failure: PeerFailure | undefined): boolean {
  if (failure === undefined || failure.status === 429) return false;
  // 403 is about one user, but not if there is no access token. A 404 without the peer's own error code may come from a
  // proxy.
  if (failure.kind === "unauthorized") return failure.status !== 403 || isNoToken(failure);
  return failure.passing || (failure.kind === "missing" && failure.code === undefined);
}

/**
 * Returns the number of requests that the run works on at once: as many as the peer gets that takes the most of those
 * that the run calls.
 */
export const requestsAtOnce = ({ peers }: Run, { paces, concurrency }: ConnectorDeps): number =>
  peers.size === 0 ? concurrency : Math.max(...[...peers.keys()].map(peer => paces.of(peer).limit));
