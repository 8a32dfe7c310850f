import { constants } from "node:os";

/** How long a repeated signal counts as the first one: a terminal and npm both pass on the same Ctrl-C. */
const sameSignalMs = 1000;

/** How long calls under way may still take. */
const graceMs = 10_000;

/** What an interrupted run still may do. */
export interface Interrupt {
  /** Fires at once. */
  readonly stop: AbortSignal;
  /** Fires when it has taken too long since. */
  readonly cut: AbortSignal;
  /** Exit code of the signal, where one came. */
  exitCode(): number | undefined;
  /** Lets signals end the process again as they do by themselves. */
  release(): void;
}

/** Turns Ctrl-C and its like into an orderly end. A second one, later, ends the process at once. */
export function catchInterrupt(told: () => void): Interrupt {
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
    told();
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
