import { type Log, withLogFields } from "../log.ts";
import { measure, timed } from "../telemetry.ts";

/** Work that a timer starts. `run` returns its report, which is logged once. */
export interface Job<D> {
  readonly schedule: string;
  run(deps: D): Promise<Readonly<Record<string, unknown>>>;
}

/**
 * Runs a job and tells what came of it: one log event, its duration, and each count of its report as a metric. A failure is logged
 * whole and thrown.
 * @param trigger `timer`, or `call` where somebody asked for it
 */
export function runJob<R extends Readonly<Record<keyof R, unknown>>>(
  job: string,
  trigger: "timer" | "call",
  log: Log,
  work: () => Promise<R>,
): Promise<R> {
  const labels = { job, trigger };
  const outcomeOf = (ended: object) => ("result" in ended ? "done" : "failed");
  return withLogFields(labels, () =>
    timed("job.duration", `job ${job}`, { labels, outcomeOf }, async () => {
      try {
        const report = await work();
        for (const [result, count] of Object.entries(report)) {
          if (typeof count === "number") measure("job.items", count, { ...labels, result });
        }
        log.info("job", { ...report });
        return report;
      } catch (error) {
        log.error("job_failed", { error });
        throw error;
      }
    }),
  );
}
