// Development tool: timers as Azure's host runs them, without its storage lock and history.
import type { HostLog } from "./core-contract.ts";
import type { Invoke } from "./invoke.ts";
import { isFrequent } from "./schedule.ts";
import type { TimerFunction } from "./served-functions.ts";

export interface Timer {
  /** Starts the schedule. Runs the function at once if it has `runOnStartup`. */
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
  readonly log: HostLog;
  /** Receives every scheduled run, so that a stop can wait for it. */
  readonly track: (run: Promise<void>) => void;
}

/** The longest wait of `setTimeout`; a longer one is made of several. */
const longestWait = 2 ** 31 - 1;

export function createTimer(timer: TimerFunction, { invoke, log, track }: TimerDeps): Timer {
  const created = new Date();
  // .NET's smallest time means that the timer has not run yet.
  let status = { last: "0001-01-01T00:00:00", lastUpdated: created.toISOString() };
  // Computed at the first use, because a host that runs no timers should not pay for it at its start.
  let planned: { next: Date | undefined; readonly hasStatus: boolean } | undefined;
  const plan = () => {
    planned ??= {
      next: timer.schedule(created),
      hasStatus: timer.useMonitor && !isFrequent(timer.schedule, created),
    };
    return planned;
  };
  let wake: NodeJS.Timeout | undefined;
  let stopped = false;

  const input = () => {
    const { next, hasStatus } = plan();
    const scheduleStatus = hasStatus
      ? { Last: status.last, Next: next?.toISOString(), LastUpdated: status.lastUpdated }
      : null;
    return {
      json: JSON.stringify({ Schedule: { AdjustForDST: true }, ScheduleStatus: scheduleStatus, IsPastDue: false }),
    };
  };

  const run = async (reason: string): Promise<void> => {
    await invoke(timer, input(), reason);
  };

  const wait = (): void => {
    const { next } = plan();
    if (stopped || next === undefined) return;
    const due = next.getTime();
    wake = setTimeout(
      () => (Date.now() < due ? wait() : track(occurrence(due))),
      Math.min(Math.max(due - Date.now(), 0), longestWait),
    );
  };

  /** The next occurrence is computed from the start of this run. Occurrences during the run follow at once, as one. */
  const occurrence = async (due: number): Promise<void> => {
    const startedAt = new Date(Math.max(Date.now(), due));
    // A failed run is logged already, and the schedule continues.
    await run(`Timer fired at ${startedAt.toISOString()}`).catch(() => {});
    plan().next = timer.schedule(startedAt);
    status = { last: startedAt.toISOString(), lastUpdated: new Date().toISOString() };
    wait();
  };

  return {
    start() {
      const upcoming: string[] = [];
      for (let at = plan().next; at !== undefined && upcoming.length < 5; at = timer.schedule(at))
        upcoming.push(at.toISOString());
      log(
        "information",
        "Host.Triggers.Timer",
        `The next occurrences of '${timer.name}' (UTC): ${upcoming.join(", ")}`,
      );
      if (timer.runOnStartup) {
        log("information", "Host.Triggers.Timer", `'${timer.name}': UnscheduledInvocationReason: RunOnStartup`);
        track(
          run(`Timer fired at ${new Date().toISOString()}`)
            .catch(() => {})
            .then(wait),
        );
      } else {
        wait();
      }
    },
    stop() {
      stopped = true;
      clearTimeout(wake);
    },
    run,
    next: () => plan().next,
  };
}
