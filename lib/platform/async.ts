/**
 * Returns a function whose concurrent callers share one run of `work`. The run has no caller's signal, so that one
 * caller cannot end it for others.
 */
export function singleFlight<T>(work: () => Promise<T>): () => Promise<T> {
  let running: Promise<T> | undefined;
  return () => {
    running ??= work().finally(() => {
      running = undefined;
    });
    return running;
  };
}

/**
 * Waits for `promise` until the signal fires, and then throws what `left` returns: by default the reason of the signal.
 */
export async function raceAbort<T>(
  promise: Promise<T>,
  signal: AbortSignal,
  left: (reason: unknown) => unknown = reason => reason,
): Promise<T> {
  const { promise: end, reject } = Promise.withResolvers<never>();
  const leave = () => reject(left(signal.reason));
  signal.addEventListener("abort", leave, { once: true });
  if (signal.aborted) leave();
  try {
    return await Promise.race([promise, end]);
  } finally {
    // With a listener, a composite signal stays in memory as long as its sources do, one of which can be the process's.
    signal.removeEventListener("abort", leave);
  }
}

/**
 * Runs `work` with a signal that aborts after `timeoutMs` or with `outer`. Waits for `work`, which must end when the
 * signal aborts.
 */
export async function withTimeoutSignal<T>(
  timeoutMs: number,
  outer: AbortSignal | undefined,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const limit = new AbortController();
  // Not `AbortSignal.timeout`, which would keep a timer and about 1 KiB until the time limit for each call that has
  // ended.
  const timer = setTimeout(() => limit.abort(timeLimitReached()), timeoutMs);
  try {
    return await work(outer === undefined ? limit.signal : AbortSignal.any([limit.signal, outer]));
  } finally {
    clearTimeout(timer);
  }
}

const timeLimitReached = () => new DOMException("The time limit was reached", "TimeoutError");

/**
 * Runs `work` with a signal that aborts after `timeoutMs`. Then rejects even if `work` ignores the signal, as code of
 * the identity SDK does that fetches a token.
 */
export async function withTimeout<T>(timeoutMs: number, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const limit = new AbortController();
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    limit.abort(timeLimitReached());
    reject(limit.signal.reason);
  }, timeoutMs);
  try {
    return await Promise.race([work(limit.signal), late]);
  } finally {
    clearTimeout(timer);
  }
}

/** The value with which work ended, or its error. */
export type Result<T> = { readonly value: T } | { readonly error: unknown };

/** Returns the value or the error of a promise. */
export const toResult = <T>(promise: Promise<T>): Promise<Result<T>> =>
  promise.then(
    value => ({ value }),
    (error: unknown) => ({ error }),
  );

/**
 * Does `work` for each item, at most `concurrency` at once. After a failure it starts no more, waits for the end of the
 * others and throws the first failure.
 */
export async function forEachLimited<T>(
  items: readonly T[],
  concurrency: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const failures: unknown[] = [];
  const left = items.values();
  const worker = async () => {
    for (const item of left) {
      if (failures.length > 0) return;
      await work(item).catch((error: unknown) => failures.push(error));
    }
  };
  await Promise.all(Array.from({ length: concurrency }, worker));
  if (failures.length > 0) throw failures[0];
}
