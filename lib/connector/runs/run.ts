import { orFailure, PeerFailure } from "../../platform/peer-failure.ts";
import { between, earliest, type Instant, plus } from "../../platform/time.ts";
import type { ConnectorDeps } from "../deps.ts";
import type { Clock } from "../model/intervals.ts";
import type { Due, Lease } from "../model/request.ts";
import { isNoToken } from "../peers/access-token.ts";

/** What a run knows about a peer. */
interface PeerInRun {
  /** Failed calls since the last one that did not fail. */
  readonly failures: number;
  /** Set when the run stops calling the peer, which is not responding or does not accept the connector. */
  readonly isStopped: boolean;
}

/** What a run of a job, or of a call that does the work of one, knows besides its dependencies. */
export interface RunState {
  /** A timer run works on items that are due; an on-demand run works on all open items. */
  readonly mode: "timer" | "on_demand";
  /** Identifies this run in its leases. */
  readonly owner: string;
  /** The time after which no new item is started. */
  readonly endsAt: Instant;
  /** The peers that this run has called, by their names. */
  readonly peers: Map<string, PeerInRun>;
  /** The peers whose work this run has deferred because they have asked to wait, each with the end of its wait. */
  readonly pauses: Map<string, Instant>;
}

/** A run with its dependencies: it is passed on as both. */
export type Run = ConnectorDeps & RunState;

export function startRun<D extends Pick<ConnectorDeps, "now" | "random" | "intervals">>(
  mode: Run["mode"],
  deps: D,
): D & RunState {
  const { now, random, intervals } = deps;
  return {
    ...deps,
    mode,
    owner: Buffer.from(random(12)).toString("base64url"),
    endsAt: plus(now(), mode === "timer" ? intervals.jobTimerMs : intervals.jobOnDemandMs),
    peers: new Map(),
    pauses: new Map(),
  };
}

export const newLease = ({ owner, now, intervals }: RunState & Clock): Lease => ({
  owner,
  until: plus(now(), intervals.leaseMs),
});

export const isLeasedByAnother = (lease: Lease | undefined, { owner, now }: RunState & Clock): boolean =>
  lease !== undefined && lease.owner !== owner && lease.until > now();

/**
 * Returns the seconds after which a caller should retry that was refused because of a lease. Jobs release a lease within
 * seconds of their last call. One that was not renewed for longer than any call takes is left over from a crash, and
 * lasts until it expires.
 */
export function secondsUntilFree(
  lease: Lease | undefined,
  { now, intervals: { leaseMs, deliveryCallMs } }: Clock,
): number {
  const leftMs = lease === undefined ? 0 : between(now(), lease.until);
  return leaseMs - leftMs > deliveryCallMs ? Math.max(5, Math.ceil(leftMs / 1000)) : 5;
}

/** Whether the run may work on an item: when it is due, or on demand unless before a peer's Retry-After. */
export function isDue(item: Pick<Due, "at" | "notBefore">, run: Run): boolean {
  const now = run.now();
  return item.at <= now || (run.mode === "on_demand" && (item.notBefore ?? now) <= now);
}

/** Whether the time of the run is over, so that it starts no new item. */
export const isPastDeadline = ({ endsAt, now }: RunState & Clock): boolean => now() >= endsAt;

/** Failed calls in a row after which a run defers the rest of a peer's work to the next run. */
const maxFailures = 3;

/** Returns whether the run must not call the peer: the run has stopped its calls, or the peer has answered 429. */
export const isStopped = (peer: string, { peers, peerLimits, now }: Run): boolean =>
  peers.get(peer)?.isStopped === true || (peerLimits.of(peer).pausedUntil ?? "") > now();

/**
 * Returns whether the run must defer work that calls the peer. If the peer has answered 429, also records the end of
 * its pause, so that the run can continue with the work then.
 */
export function mustDefer(peer: string, run: Run): boolean {
  if (!isStopped(peer, run)) return false;
  const { pausedUntil } = run.peerLimits.of(peer);
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

/** The result of a call that was not made. */
export const notCalled = Symbol("not called");
export type NotCalled = typeof notCalled;

/**
 * Does work that calls a peer as soon as the limit of the peer allows. Returns `notCalled` if the run must not call the
 * peer when its turn comes, or if `mayStart` returns false then: by default if the time of the run is over.
 */
export const takeTurn = <T>(
  peer: string,
  run: Run,
  work: () => Promise<T>,
  mayStart: () => boolean = () => !isPastDeadline(run),
): Promise<T | NotCalled> =>
  run.peerLimits.of(peer).run(async () => (mayStart() && !mustDefer(peer, run) ? work() : notCalled));

/**
 * The kind of a call whose end says less or more of its peer than that of other calls:
 * - `read`: a look-up before another call. A peer that answers look-ups may still fail all other calls.
 * - `poll`: of an authenticator. If the peer does not accept the connector, it refuses all other polls alike.
 */
export type CallKind = "read" | "poll";

/** Makes a call whose turn has come, and records its end for the run. Returns its value or the failure of the peer. */
export async function callAndRecord<T>(
  peer: string,
  run: Run,
  call: () => Promise<T>,
  kind?: CallKind,
): Promise<T | PeerFailure> {
  const result = await orFailure(call());
  recordCall(peer, result instanceof PeerFailure ? result : undefined, run, kind);
  return result;
}

/** Makes a call in its turn, see `takeTurn` and `callAndRecord`. */
export const callInTurn = <T>(
  peer: string,
  run: Run,
  call: () => Promise<T>,
  mayStart?: () => boolean,
): Promise<T | PeerFailure | NotCalled> => takeTurn(peer, run, () => callAndRecord(peer, run, call), mayStart);

/** Stops the run's calls to a peer that has failed, and all of the host to a peer that has answered 429. */
function recordCall(peer: string, failure: PeerFailure | undefined, run: Run, kind: CallKind | undefined): void {
  const wasStopped = isStopped(peer, run);
  const limit = run.peerLimits.of(peer);
  limit.pauseAfter(failure);
  const before = run.peers.get(peer) ?? { failures: 0, isStopped: false };
  const isRefused = kind === "poll" && failure?.kind === "unauthorized";
  const failuresAfterSuccess = kind === "read" ? before.failures : 0;
  const failures = isFailureOfPeer(failure) ? before.failures + 1 : failuresAfterSuccess;
  run.peers.set(peer, { failures, isStopped: before.isStopped || isRefused || failures >= maxFailures });
  if (isRefused && !before.isStopped) run.log.error("enrollment_refused", {});
  else if (!wasStopped && isStopped(peer, run)) {
    const { pausedUntil: until } = limit;
    run.log.warn("peer_stopped", { peer, ...(until && { until }), error: failure });
  }
}

/** Returns whether a call failed because of the peer. A response about one user or one request does not count. */
function isFailureOfPeer(failure: PeerFailure | undefined): boolean {
  if (failure === undefined || failure.status === 429) return false;
  // 403 is about one user, but not if there is no access token.
  if (failure.kind === "unauthorized") return failure.status !== 403 || isNoToken(failure);
  return failure.isTransient;
}

/**
 * Whether an index row that does not match its request can be removed. A recent one cannot: its writer writes the rows
 * of the request after the index row, and may be between the two.
 * @param options `isOrphan`: whether there is no such request
 */
export const canRemoveIndexRow = (
  { writtenAt }: { readonly writtenAt: Instant },
  { isOrphan }: { readonly isOrphan: boolean },
  { now, intervals }: Clock,
): boolean => between(writtenAt, now()) > (isOrphan ? intervals.orphanRowMs : intervals.staleRowMs);
