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
