/** Decides when an attempt that has a place in the queue of password hashes begins its storage calls. */
export interface HashTurns {
  /**
   * Resolves when the attempt may begin.
   * @param isKnown whether a session, a device token or an API token identifies the caller
   * @returns a function to call when the attempt has its hash, or has failed before; repeated calls have no effect
   */
  next(isKnown: boolean): Promise<() => void>;
}

export interface HashTurnsOptions {
  /** Number of attempts between their beginning and their hash, above which further ones wait. */
  readonly maxStarted: number;
  /** Expected milliseconds from one finished hash to the next. */
  readonly perHashMs: () => number;
  /** Resolves after this number of milliseconds. */
  readonly sleep: (ms: number) => Promise<void>;
}

/**
 * Lets only as many attempts begin as keep the hashing threads busy. Otherwise the storage calls of a full queue would occupy the event
 * loop for seconds, and delay the refusals of all other callers. While known and unknown callers wait, they begin alternately, so that
 * neither kind waits for the whole queue of the other.
 */
export function createHashTurns({ maxStarted, perHashMs, sleep }: HashTurnsOptions): HashTurns {
  const waiting = { known: [] as (() => void)[], unknown: [] as (() => void)[] };
  let started = 0;
  let startsInTotal = 0;
  let wasLastKnown = false;
  let isWatching = false;

  const hasWaiting = () => waiting.known.length + waiting.unknown.length > 0;
  const startNext = (): void => {
    const isKnown = waiting.unknown.length === 0 || (!wasLastKnown && waiting.known.length > 0);
    const start = waiting[isKnown ? "known" : "unknown"].shift();
    if (start === undefined) return;
    wasLastKnown = isKnown;
    start();
  };
  /**
   * Starts an attempt beyond the maximum whenever none has begun for the time of a hash. So attempts that wait for slow storage, or for
   * other attempts at the same username, do not stop those that wait for their turn: the threads always have a hash.
   */
  const watch = async (): Promise<void> => {
    if (isWatching) return;
    isWatching = true;
    while (hasWaiting()) {
      const before = startsInTotal;
      await sleep(perHashMs());
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
