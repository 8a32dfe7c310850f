import pLimit from "p-limit";
import type { PeerFailure } from "../../platform/peers/peer-failure.ts";
import { between, type Instant, minutes, type Now, plus } from "../../platform/time.ts";

/** How many calls of jobs one peer gets at once. */
export interface Pace {
  /** The current limit. */
  readonly limit: number;
  /** The time before which no job of this host calls the peer, because it has answered 429. */
  readonly pausedUntil: Instant | undefined;
  /** Does the work as soon as less than `limit` other work is done at this peer, in the order of the calls. */
  run<T>(work: () => Promise<T>): Promise<T>;
  /**
   * Adapts the limit to a call that has ended now.
   * @param failure undefined if the peer did what it was asked
   */
  learn(startedAt: Instant, failure?: PeerFailure): void;
}

/** The limits of all peers, by their names. */
export interface Paces {
  of(peer: string): Pace;
}

/** The limit of a peer that was not called yet, and the lowest one. */
export const firstLimit = 8;
const lowestLimit = 4;
/** A limit at which a peer was overloaded is not tried again for so long. */
const rememberedMs = minutes(10);
/** The pause after a call that was throttled without Retry-After. */
const usualPauseMs = minutes(1);
/** The time of calls has grown when it is more than twice the lowest, and by more than the delays of a busy host. */
const toleratedMs = 50;

/** @param highest the highest limit of a peer */
export function peerPaces(highest: number, now: Now): Paces {
  const paces = new Map<string, Pace>();
  return {
    of: peer => {
      const pace = paces.get(peer) ?? newPace(highest, now);
      paces.set(peer, pace);
      return pace;
    },
  };
}

/**
 * Returns a limit that finds out how much a peer takes (additive increase, multiplicative decrease): it grows by one
 * after each `limit` calls that are answered about as fast as the fastest, if at least half of it is in use. It is
 * halved when the peer throttles, answers 503 or does not answer.
 */
function newPace(highest: number, now: Now): Pace {
  const lowest = Math.min(lowestLimit, highest);
  const work = pLimit(Math.min(firstLimit, highest));
  let window = newWindow();
  let fastestMs = Number.POSITIVE_INFINITY;
  let overload: { readonly at: Instant; readonly limit: number } | undefined;
  let pausedUntil: Instant | undefined;

  const setLimit = (limit: number) => {
    work.concurrency = limit;
    window = newWindow();
  };
  const highestNow = () =>
    overload !== undefined && plus(overload.at, rememberedMs) > now()
      ? Math.max(lowest, Math.min(highest, overload.limit - 1))
      : highest;

  return {
    get limit() {
      return work.concurrency;
    },
    get pausedUntil() {
      return pausedUntil;
    },
    run: each => work(each),
    learn(startedAt, failure) {
      if (failure?.status === 429) {
        // Bounded, because one wrong Retry-After must not stop all work at the peer for a day.
        const until = plus(now(), Math.min(rememberedMs, (failure.retryAfter ?? usualPauseMs / 1000) * 1000));
        if (until > (pausedUntil ?? "")) pausedUntil = until;
      }
      if (isOverload(failure)) {
        // Calls that were made together are throttled together: they count once.
        if (overload !== undefined && startedAt < overload.at) return;
        overload = { at: now(), limit: work.concurrency };
        setLimit(Math.max(lowest, Math.floor(work.concurrency / 2)));
        return;
      }
      // Without a connection nothing is known about the peer.
      if (failure?.kind === "unreachable") return;
      window.calls++;
      window.ms += between(startedAt, now());
      window.isInUse ||= work.activeCount * 2 >= work.concurrency;
      if (window.calls < work.concurrency) return;
      const meanMs = window.ms / window.calls;
      // Grows slowly, so that a peer that has become slower is not compared with its past forever. Never 0, from which it would not grow:
      // a failure without a call takes no time.
      fastestMs = Math.max(toleratedMs, Math.min(fastestMs * 1.02, meanMs));
      const isSlower = meanMs > fastestMs * 2 && meanMs > fastestMs + toleratedMs;
      const mayGrow = window.isInUse && !isSlower && work.concurrency < highestNow();
      setLimit(work.concurrency + (mayGrow ? 1 : 0));
    },
  };
}

const newWindow = () => ({ calls: 0, ms: 0, isInUse: false });

const overloadStatuses: readonly (number | undefined)[] = [undefined, 408, 503, 504];

const isOverload = (failure: PeerFailure | undefined): boolean =>
  failure?.kind === "throttled" || (failure?.kind === "unanswered" && overloadStatuses.includes(failure.status));
