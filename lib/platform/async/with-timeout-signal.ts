/** Runs `work` with a signal that aborts after `timeoutMs` or with `outer`. Waits for `work`, which must end when the signal aborts. */
export async function withTimeoutSignal<T>(
  timeoutMs: number,
  outer: AbortSignal | undefined,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const limit = new AbortController();
  // Not `AbortSignal.timeout`, which would keep a timer and about 1 KiB until the time limit for each call that has ended.
  const timer = setTimeout(
    () => limit.abort(new DOMException("The time limit was reached", "TimeoutError")),
    timeoutMs,
  );
  try {
    return await work(outer === undefined ? limit.signal : AbortSignal.any([limit.signal, outer]));
  } finally {
    clearTimeout(timer);
  }
}
