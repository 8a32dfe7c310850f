/** How long a repeated signal counts as the first one: a terminal and npm both pass on the same Ctrl-C. */
const sameSignalMs = 1000;

/**
 * Stops on a signal, or when the process that started this one is gone; then the process ends with 0, or 1 where stopping
 * fails. A signal that comes later, while it still stops, ends it at once.
 */
export function stopOnce(stop: () => Promise<void>): void {
  let since: number | undefined;
  const end = (): void => {
    if (since !== undefined) {
      if (performance.now() - since > sameSignalMs) process.exit(1);
      return;
    }
    since = performance.now();
    stop().then(
      () => process.exit(0),
      (error: unknown) => {
        console.error(error);
        process.exit(1);
      },
    );
  };
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, end);
  process.on("disconnect", end);
}
