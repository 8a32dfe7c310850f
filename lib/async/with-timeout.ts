import { raceAbort } from "./race-abort.ts";

/**
 * Runs `work` with a signal that fires after `timeoutMs` or when `signal` fires. Then rejects even if `work` ignores the signal, as
 * code of the identity SDK does that fetches a token.
 */
export async function withTimeout<T>(
  timeoutMs: number,
  work: (signal: AbortSignal) => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  signal?.throwIfAborted();
  const limit = new AbortController();
  const both = signal === undefined ? limit.signal : AbortSignal.any([limit.signal, signal]);
  // Not `AbortSignal.timeout`: its timers would stay in memory until the time limit, one for each finished call.
  const timer = setTimeout(
    () => limit.abort(new DOMException("The time limit was reached", "TimeoutError")),
    timeoutMs,
  );
  try {
    return await raceAbort(work(both), both);
  } finally {
    clearTimeout(timer);
  }
}
