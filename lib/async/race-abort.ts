/** Waits for `promise` until the signal fires, and then throws the error that `left` returns. */
export async function raceAbort<T>(
  promise: Promise<T>,
  signal: AbortSignal | undefined,
  left: (reason: unknown) => Error,
): Promise<T> {
  if (signal === undefined) return promise;
  const { promise: end, reject } = Promise.withResolvers<never>();
  const leave = () => reject(left(signal.reason));
  signal.addEventListener("abort", leave, { once: true });
  if (signal.aborted) leave();
  try {
    return await Promise.race([promise, end]);
  } finally {
    signal.removeEventListener("abort", leave);
  }
}
