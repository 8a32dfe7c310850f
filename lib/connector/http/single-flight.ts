/** Returns a function whose concurrent callers share one run of `work`. The run has no caller's signal, so that one caller cannot end it for others. */
export function singleFlight<T>(work: () => Promise<T>): () => Promise<T> {
  let running: Promise<T> | undefined;
  return () => {
    running ??= work().finally(() => {
      running = undefined;
    });
    return running;
  };
}

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
