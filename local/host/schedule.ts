// Development tool: timer schedules as Azure's host computes them.
import { Cron } from "croner";
import { isNcrontab } from "../../lib/platform/settings/setting.ts";

/** Returns the first occurrence after a time, in UTC; undefined if there is none. */
export type Schedule = (after: Date) => Date | undefined;

/**
 * Parses an NCRONTAB expression of six fields. Day of month and weekday must both match.
 *
 * @throws Error for any other text
 */
export function parseSchedule(expression: string): Schedule {
  if (!isNcrontab(expression)) throw new Error(`The schedule '${expression}' is not an NCRONTAB expression.`);
  const cron = new Cron(expression.trim(), { paused: true, domAndDow: true, sloppyRanges: true, timezone: "UTC" });
  return after => cron.nextRun(after) ?? undefined;
}
