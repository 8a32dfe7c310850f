// Development tool: timer schedules as Azure's host parses them.
import { Cron } from "croner";

/** Returns the first occurrence after a time, in UTC; undefined if there is none. */
export type Schedule = (after: Date) => Date | undefined;

const names = "sun|mon|tue|wed|thu|fri|sat|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec";
const ncrontabField = new RegExp(`^(?:\\*|\\d+|${names}|[,/-])+$`, "i");

/**
 * Parses an NCRONTAB expression of 6 fields, or 5 with second 0, or a constant interval `hh:mm:ss`. Day of month and weekday
 * must both match.
 *
 * @throws Error for an expression that Azure's host refuses, including croner's additions (`@daily`, `L`, `#`, weekday 7)
 */
export function parseSchedule(expression: string): Schedule {
  const interval = parseTimeSpan(expression);
  if (interval !== undefined && interval > 0) return after => new Date(after.getTime() + interval);
  const fields = expression.trim().split(/\s+/);
  const weekday = fields.at(-1)?.replace(/\/\d+/g, "") ?? "";
  if (![5, 6].includes(fields.length) || !fields.every(field => ncrontabField.test(field)) || /\b7\b/.test(weekday)) {
    throw unrecognised(expression);
  }
  try {
    const cron = new Cron(fields.join(" "), { paused: true, domAndDow: true, sloppyRanges: true, timezone: "UTC" });
    return after => cron.nextRun(after) ?? undefined;
  } catch {
    throw unrecognised(expression);
  }
}

const unrecognised = (expression: string) =>
  new Error(`The expression '${expression}' was not recognized as a valid cron expression or timespan string.`);

/** Returns `[d.]hh:mm:ss` in milliseconds. */
export function parseTimeSpan(text: string): number | undefined {
  const [, days = "0", hours, minutes, seconds] = /^(?:(\d+)\.)?(\d\d?):([0-5]\d):([0-5]\d)$/.exec(text) ?? [];
  if (hours === undefined || Number(hours) > 23) return undefined;
  return (((Number(days) * 24 + Number(hours)) * 60 + Number(minutes)) * 60 + Number(seconds)) * 1000;
}

/** Returns whether two of the next occurrences are less than a minute apart. The real host stores no status for such a timer. */
export function isFrequent(schedule: Schedule, from: Date): boolean {
  let last = schedule(from);
  for (let count = 0; last !== undefined && count < 10; count++) {
    const next = schedule(last);
    if (next !== undefined && next.getTime() - last.getTime() < 60_000) return true;
    last = next;
  }
  return false;
}
