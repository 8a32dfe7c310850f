import { type Log, withLogFields } from "../log.ts";
import { measure, timed } from "../telemetry.ts";

/** Work that a timer runs. `run` returns a report, which is logged. */
export interface Job<D> {
  readonly schedule: string;
  run(deps: D): Promise<object>;
}

/**
 * Runs a job, logs its report, and records its duration and each count of the report as metrics. Logs and rethrows an
 * error.
 * @param trigger `timer`, or `call` for an on-demand run
 */
export function runJob<R extends Readonly<Record<keyof R, unknown>>>(
  job: string,
  trigger: "timer" | "call",
  log: Log,
  work: () => Promise<R>,
): Promise<R> {
  const labels = { job, trigger };
  const outcomeOf = (ended: object) => ("value" in ended ? "done" : "failed");
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
