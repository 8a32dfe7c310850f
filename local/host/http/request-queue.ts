// Development tool: the limit of host.json on HTTP functions, and the order in which a worker receives requests.
/** Runs the work when it is its turn. Returns undefined without running it if there are too many requests. */
export type RequestQueue = <T>(work: () => Promise<T>) => Promise<T> | undefined;

/**
 * Functions that start in one turn of the event loop. A real worker receives requests through one stream, of which it reads a limited
 * part at a time, so that it also serves its own connections while thousands of requests wait. Without a limit, every storage call of a
 * function would wait for all requests that have arrived.
 */
const startsPerTurn = 32;

/** @param maxOutstanding maximum number of functions that run or wait; -1 for no limit */
export function createRequestQueue(maxOutstanding = -1): RequestQueue {
  let outstanding = 0;
  const nextTurn = createTurns();
  return work => {
    if (outstanding === maxOutstanding) return undefined;
    outstanding += 1;
    const run = async () => {
      await nextTurn();
      return work();
    };
    return run().finally(() => {
      outstanding -= 1;
    });
  };
}

/** Returns a function that resolves at once for the first callers of a turn of the event loop, and in later turns for the others. */
function createTurns(): () => Promise<void> {
  const waiting: (() => void)[] = [];
  let started = 0;
  let isScheduled = false;
  const next = (): void => {
    isScheduled = false;
    started = 0;
    for (const start of waiting.splice(0, startsPerTurn)) {
      started += 1;
      start();
    }
    if (waiting.length > 0) schedule();
  };
  const schedule = (): void => {
    if (isScheduled) return;
    isScheduled = true;
    setImmediate(next);
  };
  return async () => {
    schedule();
    if (waiting.length === 0 && started < startsPerTurn) started += 1;
    else await new Promise<void>(resolve => waiting.push(resolve));
  };
}
