import { constants } from "node:os";

/** Time within which a second signal is the same Ctrl-C: the terminal and npm both send it. */
const sameSignalMs = 1000;

/** Time that calls in progress may still take. */
const graceMs = 10_000;

/** The state of an interrupted run. */
export interface Interrupt {
  /** Fires at the signal. */
  readonly stop: AbortSignal;
  /** Fires 10 seconds after the signal. */
  readonly cut: AbortSignal;
  /** Returns the exit code of the signal, if one came. */
  exitCode(): number | undefined;
  /** Restores the default effect of signals. */
  release(): void;
}

/** Turns Ctrl-C and similar signals into an orderly end. A second one ends the process at once. */
export function catchInterrupt(onInterrupt: () => void): Interrupt {
  const [stop, cut] = [new AbortController(), new AbortController()];
  let since: number | undefined;
  let exitCode: number | undefined;
  let grace: NodeJS.Timeout | undefined;
  const interrupt = (signal: NodeJS.Signals) => {
    if (since !== undefined) {
      if (performance.now() - since > sameSignalMs) process.exit(exitCode);
      return;
    }
    since = performance.now();
    exitCode = 128 + (constants.signals[signal] ?? 0);
    grace = setTimeout(() => cut.abort(), graceMs);
    onInterrupt();
    stop.abort();
  };
  const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
  for (const signal of signals) process.on(signal, interrupt);
  return {
    stop: stop.signal,
    cut: cut.signal,
    exitCode: () => exitCode,
    release: () => {
      clearTimeout(grace);
      for (const signal of signals) process.off(signal, interrupt);
    },
  };
}
