/** Waits for `promise` until the signal fires, and then throws what `left` returns: by default the reason of the signal. */
export async function raceAbort<T>(
  promise: Promise<T>,
  signal: AbortSignal | undefined,
  left: (reason: unknown) => unknown = reason => reason,
): Promise<T> {
  if (signal === undefined) return promise;
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
