// Development tool: timers as Azure's host runs them, without its storage lock and history.
import type { HostLog } from "./core-contract.ts";
import type { Invoke } from "./invoke.ts";
import { isFrequent } from "./schedule.ts";
import type { TimerFunction } from "./served-functions.ts";

export interface Timer {
  /** Begins the schedule, with a run at once where the function asks for one. */
  start(): void;
  /** Begins no further scheduled run; one that is under way goes on. */
  stop(): void;
  /** Runs now, beside the schedule and whatever it is doing. Rejects with the function's error. */
  run(reason: string): Promise<void>;
  /** When the schedule runs it next. */
  next(): Date | undefined;
}

interface TimerDeps {
  readonly invoke: Invoke;
  readonly log: HostLog;
  /** Told of every scheduled run, so that a stop can await it. */
  readonly track: (run: Promise<void>) => void;
}

/** `setTimeout` takes no longer wait; a longer one is made of several. */
const longestWait = 2 ** 31 - 1;

export function createTimer(timer: TimerFunction, { invoke, log, track }: TimerDeps): Timer {
  const created = new Date();
  // .NET's least time: the timer has not run yet.
  let status = { last: "0001-01-01T00:00:00", lastUpdated: created.toISOString() };
  let next = timer.schedule(created);
  let wake: NodeJS.Timeout | undefined;
  let stopped = false;
  const hasStatus = timer.useMonitor && !isFrequent(timer.schedule, created);

  const input = () => {
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
    if (stopped || next === undefined) return;
    const due = next.getTime();
    wake = setTimeout(
      () => (Date.now() < due ? wait() : track(occurrence(due))),
      Math.min(Math.max(due - Date.now(), 0), longestWait),
    );
  };

  /** The next occurrence is counted from this run's start: one that fell into it follows at once, several as one. */
  const occurrence = async (due: number): Promise<void> => {
    const begun = new Date(Math.max(Date.now(), due));
    // A failed run is in the log already, and the schedule goes on.
    await run(`Timer fired at ${begun.toISOString()}`).catch(() => {});
    next = timer.schedule(begun);
    status = { last: begun.toISOString(), lastUpdated: new Date().toISOString() };
    wait();
  };

  return {
    start() {
      const upcoming: string[] = [];
      for (let at = next; at !== undefined && upcoming.length < 5; at = timer.schedule(at))
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
    next: () => next,
  };
}
