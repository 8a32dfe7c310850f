// Development tool: the limits of host.json on HTTP functions, and the order in which a worker receives requests.
import pLimit from "p-limit";

export interface RequestLimits {
  /** Maximum number of functions that run; -1 for no limit. */
  readonly maxConcurrentRequests?: number;
  /** Maximum number of functions that run or wait; -1 for no limit. */
  readonly maxOutstandingRequests?: number;
}

/** Runs the work when it is its turn. Returns undefined without running it if there are too many requests. */
export type RequestQueue = <T>(work: () => Promise<T>) => Promise<T> | undefined;

/**
 * Functions that start in one turn of the event loop. A real worker receives requests through one stream, of which it reads a limited
 * part at a time, so that it also serves its own connections while thousands of requests wait. Without a limit, every storage call of a
 * function would wait for all requests that have arrived.
 */
const startsPerTurn = 32;

export function createRequestQueue(limits: RequestLimits): RequestQueue {
  const outstanding = bound(limits.maxOutstandingRequests);
  const limit = pLimit(bound(limits.maxConcurrentRequests));
  const nextTurn = createTurns();
  return work => {
    if (limit.activeCount + limit.pendingCount >= outstanding) return undefined;
    return limit(async () => {
      await nextTurn();
      return work();
    });
  };
}

const bound = (value = -1): number => (value === -1 ? Number.POSITIVE_INFINITY : value);

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
