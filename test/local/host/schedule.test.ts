import { expect, it } from "vitest";
import { parseSchedule } from "../../../local/host/schedule.ts";

const occurrences = (expression: string, count = 2) => {
  const schedule = parseSchedule(expression);
  const found: string[] = [];
  for (let at = schedule(new Date("2026-11-21T13:15:10.500Z")); at && found.length < count; at = schedule(at))
    found.push(at.toISOString());
  return found;
};

it("a schedule is an NCRONTAB expression of six fields, in UTC, whose day and weekday both must match", () => {
  expect(occurrences("30 */20 * * * *")).toEqual(["2026-11-21T13:20:30.000Z", "2026-11-21T13:40:30.000Z"]);
  expect(occurrences("0 30 9-10 * Jan Mon,Tue", 3)).toEqual([
    "2027-01-04T09:30:00.000Z",
    "2027-01-04T10:30:00.000Z",
    "2027-01-05T09:30:00.000Z",
  ]);
  expect(occurrences("5/30 * * * * *")).toEqual(["2026-11-21T13:15:35.000Z", "2026-11-21T13:16:05.000Z"]);
  expect(occurrences("0 0 0 13 * 5")).toEqual(["2027-08-13T00:00:00.000Z", "2028-10-13T00:00:00.000Z"]);
  expect(occurrences("0 0 0 31 2 *")).toEqual([]);
});

it("refuses a schedule that is no such expression", () => {
  expect(() => parseSchedule("@daily")).toThrow("The schedule '@daily' is not an NCRONTAB expression.");
});
