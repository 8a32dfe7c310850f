// Development tool: timers as Azure's host runs them, without their storage lock and status.
import type { Invoke } from "./invoke.ts";
import type { TimerFunction } from "./served-functions.ts";

export interface Timer {
  /** Starts the schedule. */
  start(): void;
  /** Stops the schedule. A run in progress continues. */
  stop(): void;
  /** Runs now, independently of the schedule. Rejects with the function's error. */
  run(reason: string): Promise<void>;
  /** When the schedule runs it next. */
  next(): Date | undefined;
}

interface TimerDeps {
  readonly invoke: Invoke;
  /** Receives every scheduled run, so that a stop can wait for it. */
  readonly track: (run: Promise<void>) => void;
}

/** The longest wait of `setTimeout`; a longer one is made of several. */
const longestWaitMs = 2 ** 31 - 1;

/** What a run gets of a timer without stored status, as the real host has for one that runs more than once a minute. */
const input = { json: JSON.stringify({ Schedule: { AdjustForDST: true }, ScheduleStatus: null, IsPastDue: false }) };

export function createTimer(timer: TimerFunction, { invoke, track }: TimerDeps): Timer {
  const created = new Date();
  // Computed at the first use, because a host that runs no timers should not pay for it at its start.
  let planned: { readonly at: Date | undefined } | undefined;
  const next = () => {
    planned ??= { at: timer.schedule(created) };
    return planned.at;
  };
  let wake: NodeJS.Timeout | undefined;
  let stopped = false;

  const run = async (reason: string): Promise<void> => {
    await invoke(timer, input, reason);
  };

  const wait = (): void => {
    const due = next()?.getTime();
    if (stopped || due === undefined) return;
    wake = setTimeout(
      () => (Date.now() < due ? wait() : track(occurrence(due))),
      Math.min(Math.max(due - Date.now(), 0), longestWaitMs),
    );
  };

  /** The next occurrence is computed from the start of this run. Occurrences during the run follow at once, as one. */
  const occurrence = async (due: number): Promise<void> => {
    const startedAt = new Date(Math.max(Date.now(), due));
    // A failed run is logged already, and the schedule continues.
    await run(`Timer fired at ${startedAt.toISOString()}`).catch(() => {});
    planned = { at: timer.schedule(startedAt) };
    wait();
  };

  return {
    start: wait,
    stop() {
      stopped = true;
      clearTimeout(wake);
    },
    run,
    next,
  };
}
