/** Time in which a repeated signal counts as the first one, because a terminal and npm both pass on the same Ctrl-C. */
const sameSignalMs = 1000;

/**
 * Calls `stop` on a signal, or when the parent process has ended. Then ends the process with 0, or with 1 if stopping fails. A
 * later signal ends the process at once.
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
