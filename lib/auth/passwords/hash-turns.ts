/** The order in which attempts that have a place in the queue of password hashes begin their storage calls. */
export interface HashTurns {
  /**
   * Resolves when the attempt may begin.
   * @returns a function that ends the attempt's turn, so that the next one begins; repeated calls have no effect
   */
  next(isKnown: boolean): Promise<() => void>;
}

export interface HashTurnsOptions {
  /** Number of attempts that begin without waiting for another one to end. */
  readonly maxStarted: number;
  /** Expected milliseconds from one finished hash to the next. */
  readonly perHashMs: () => number;
  /** Resolves after this number of milliseconds. */
  readonly sleep: (ms: number) => Promise<void>;
}

/**
 * Lets only as many attempts begin as keep the hashing threads busy. Otherwise the storage calls of a full queue would occupy the event
 * loop for seconds, and delay the refusals of all other callers. Known and unknown callers begin by turns, so that neither kind waits
 * for the whole queue of the other.
 */
export function createHashTurns({ maxStarted, perHashMs, sleep }: HashTurnsOptions): HashTurns {
  const waiting = { known: [] as (() => void)[], unknown: [] as (() => void)[] };
  let started = 0;
  let startsInTotal = 0;
  let isKnownNext = true;
  let isWatching = false;

  const hasWaiting = () => waiting.known.length + waiting.unknown.length > 0;
  const startNext = (): void => {
    const [first, second] = isKnownNext ? [waiting.known, waiting.unknown] : [waiting.unknown, waiting.known];
    const start = first.shift() ?? second.shift();
    if (start === undefined) return;
    isKnownNext = !isKnownNext;
    start();
  };
  /** Attempts that wait for storage, or for a slot of a throttle, must not delay the others: one begins in the time of two hashes. */
  const watch = async (): Promise<void> => {
    if (isWatching) return;
    isWatching = true;
    while (hasWaiting()) {
      const before = startsInTotal;
      await sleep(2 * perHashMs());
      if (startsInTotal === before) startNext();
    }
    isWatching = false;
  };
  const begin = (): (() => void) => {
    started += 1;
    startsInTotal += 1;
    let isEnded = false;
    return () => {
      if (isEnded) return;
      isEnded = true;
      started -= 1;
      if (started < maxStarted) startNext();
    };
  };

  return {
    next(isKnown) {
      if (started < maxStarted) return Promise.resolve(begin());
      return new Promise(resolve => {
        waiting[isKnown ? "known" : "unknown"].push(() => resolve(begin()));
        void watch();
      });
    },
  };
}
