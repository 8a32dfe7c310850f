/** Joins whoever asks while `work` runs to the same run. The run has no caller's signal: one who leaves must not end it for the others. */
export function singleFlight<T>(work: () => Promise<T>): () => Promise<T> {
  let running: Promise<T> | undefined;
  return () => {
    running ??= work().finally(() => {
      running = undefined;
    });
    return running;
  };
}

/** Waits for `promise`, but no longer than until the signal fires; then fails with what `left` makes. */
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
