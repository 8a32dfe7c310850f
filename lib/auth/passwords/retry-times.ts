import { between, type Now, plus, seconds } from "../../time.ts";

/** The times at which refused callers are asked to come back. */
export interface RetryTimes {
  /**
   * Returns the seconds after which the next refused caller should try again.
   * @param perHashMs expected milliseconds from one finished hash to the next
   */
  next(perHashMs: number): number;
}

export interface RetryTimesOptions {
  /** Callers who come back at the same time are spread at random over at least so many milliseconds. */
  readonly spreadMs: number;
  readonly now: Now;
  readonly random: (bytes: number) => Uint8Array;
}

/** At most 100 callers a second are asked to come back: refusing them again takes less than a tenth of the event loop. */
const minIntervalMs = 10;
/** A person accepts a wait of this length. A flood that ignores it must not keep people out for longer. */
const maxWaitMs = seconds(20);

/**
 * Gives each refused caller a time of its own, one interval after that of the caller before, so that as many come back in a second as
 * the host can hash passwords. Without a free time within the maximum wait, a random one is shared. Keeps one instant, so the memory
 * does not depend on the number of callers.
 */
export function createRetryTimes({ spreadMs, now, random }: RetryTimesOptions): RetryTimes {
  const longestMs = Math.max(maxWaitMs, spreadMs);
  let lastGiven = now();
  return {
    next(perHashMs) {
      const at = now();
      const givenMs = Math.min(longestMs, Math.max(0, between(at, lastGiven)));
      const nextMs = givenMs + Math.max(minIntervalMs, perHashMs);
      const isFull = nextMs + spreadMs > longestMs;
      // Also if there is no free time: after the clock was set back, the last one given is far away.
      lastGiven = plus(at, isFull ? givenMs : nextMs);
      const [firstMs, widthMs] = isFull ? [0, longestMs] : [givenMs, spreadMs];
      const [share = 0] = random(1);
      return 1 + Math.floor((firstMs + (share * widthMs) / 256) / 1000);
    },
  };
}
