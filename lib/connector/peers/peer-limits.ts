import pLimit from "p-limit";
import type { PeerFailure } from "../../platform/peers/peer-failure.ts";
import { type Instant, minutes, type Now, plus } from "../../platform/time.ts";

/** The limit of the calls that the jobs of this host make to one peer. */
interface PeerLimit {
  /** The time before which no job of this host calls the peer, because it has answered 429. */
  readonly pausedUntil: Instant | undefined;
  /** Does the work when the limit allows, in the order of the calls. */
  run<T>(work: () => Promise<T>): Promise<T>;
  /** Starts a pause if the call has failed with 429. */
  pauseAfter(failure: PeerFailure | undefined): void;
}

/** The limits of all peers, by their names. */
export interface PeerLimits {
  /** The number of calls that each peer gets at once. */
  readonly callsAtOnce: number;
  of(peer: string): PeerLimit;
}

/** The pause after a call that was throttled without Retry-After. */
const usualPauseMs = minutes(1);
/** One wrong Retry-After must not stop all work at the peer for a day. */
const maxPauseMs = minutes(10);

export function peerLimits(callsAtOnce: number, now: Now): PeerLimits {
  const limits = new Map<string, PeerLimit>();
  return {
    callsAtOnce,
    of: peer => {
      const limit = limits.get(peer) ?? newLimit(callsAtOnce, now);
      limits.set(peer, limit);
      return limit;
    },
  };
}

function newLimit(callsAtOnce: number, now: Now): PeerLimit {
  const limit = pLimit(callsAtOnce);
  let pausedUntil: Instant | undefined;
  return {
    get pausedUntil() {
      return pausedUntil;
    },
    run: work => limit(work),
    pauseAfter(failure) {
      if (failure?.status !== 429) return;
      const retryAfterMs = failure.retryAfter === undefined ? usualPauseMs : failure.retryAfter * 1000;
      const until = plus(now(), Math.min(maxPauseMs, retryAfterMs));
      if (until > (pausedUntil ?? "")) pausedUntil = until;
    },
  };
}
