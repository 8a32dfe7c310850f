import { between, type Now, plus, seconds } from "../../platform/time.ts";

/** The times at which refused callers are asked to come back. */
export interface RetryTimes {
  /**
   * Returns the seconds after which the next refused caller should try again.
   * @param perHashMs expected milliseconds from one finished hash to the next
   */
  next(perHashMs: number): number;
}

export interface RetryTimesOptions {
  /** Milliseconds of the random part of each time. Above the maximum of 20 seconds it is that maximum. */
  readonly spreadMs: number;
  readonly now: Now;
  readonly random: (bytes: number) => Uint8Array;
}

/** At most 100 callers a second are asked to come back: refusing them again takes less than a tenth of the event loop. */
const minIntervalMs = 10;
/** A person accepts a wait of this length. A flood that ignores it must not keep people out for longer. */
const longestMs = seconds(20);

/**
 * Gives each refused caller a time of its own, one interval after that of the caller before, so that as many come back in a second as
 * the host can hash passwords. If no time is left within 20 seconds, gives a random one of these seconds. Keeps one instant, so the
 * memory does not depend on the number of callers.
 */
export function createRetryTimes({ now, random, ...options }: RetryTimesOptions): RetryTimes {
  const spreadMs = Math.min(options.spreadMs, longestMs);
  let lastGiven = now();
  return {
    next(perHashMs) {
      const at = now();
      const givenMs = Math.min(longestMs, Math.max(0, between(at, lastGiven)));
      const nextMs = givenMs + Math.max(minIntervalMs, perHashMs);
      const isFull = nextMs + spreadMs > longestMs;
      // Written also if no time is left: after the clock was set back, the last one given may be hours ahead.
      lastGiven = plus(at, isFull ? givenMs : nextMs);
      const [firstMs, widthMs] = isFull ? [0, longestMs] : [givenMs, spreadMs];
      const [share = 0] = random(1);
      return 1 + Math.floor((firstMs + (share * widthMs) / 256) / 1000);
    },
  };
}
