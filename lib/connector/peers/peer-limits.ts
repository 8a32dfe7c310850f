import pLimit from "p-limit";
import type { PeerFailure } from "../../platform/peer-failure.ts";
import { type Instant, minutes, type Now, plus } from "../../platform/time.ts";

/** The pause after a call that was throttled without Retry-After. */
const usualPauseMs = minutes(1);
/** One wrong Retry-After must not stop all work at the peer for a day. */
const maxPauseMs = minutes(10);

export type PeerLimits = ReturnType<typeof peerLimits>;

/** Returns the limits of the calls that the jobs of this host make to each peer. @param callsAtOnce of each peer */
export function peerLimits(callsAtOnce: number, now: Now) {
  const limits = new Map<string, ReturnType<typeof newLimit>>();
  return {
    callsAtOnce,
    of: (peer: string) => {
      const limit = limits.get(peer) ?? newLimit(callsAtOnce, now);
      limits.set(peer, limit);
      return limit;
    },
  };
}

function newLimit(callsAtOnce: number, now: Now) {
  const limit = pLimit(callsAtOnce);
  let pausedUntil: Instant | undefined;
  return {
    /** The time before which no job of this host calls the peer, because it has answered 429. */
    get pausedUntil() {
      return pausedUntil;
    },
    /** Does the work when the limit allows, in the order of the calls. */
    run: <T>(work: () => Promise<T>): Promise<T> => limit(work),
    /** Starts a pause if the call has failed with 429. */
    pauseAfter(failure: PeerFailure | undefined) {
      if (failure?.status !== 429) return;
      const retryAfterMs = failure.retryAfterSeconds === undefined ? usualPauseMs : failure.retryAfterSeconds * 1000;
      const until = plus(now(), Math.min(maxPauseMs, retryAfterMs));
      if (until > (pausedUntil ?? "")) pausedUntil = until;
    },
  };
}
