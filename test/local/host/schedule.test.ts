import { describe, expect, it } from "vitest";
import { isFrequent, parseSchedule, parseTimeSpan } from "../../../local/host/schedule.ts";

const from = new Date("2026-11-21T13:15:10.500Z");
const occurrences = (expression: string, count = 2) => {
  const schedule = parseSchedule(expression);
  const found: string[] = [];
  for (let at = schedule(from); at !== undefined && found.length < count; at = schedule(at))
    found.push(at.toISOString());
  return found;
};

describe("a timer's schedule", () => {
  it("is an NCRONTAB expression of six fields, in UTC", () => {
    expect(occurrences("30 */20 * * * *")).toEqual(["2026-11-21T13:20:30.000Z", "2026-11-21T13:40:30.000Z"]);
    expect(occurrences("0 30 9-10 * Jan Mon,Tue", 3)).toEqual([
      "2027-01-04T09:30:00.000Z",
      "2027-01-04T10:30:00.000Z",
      "2027-01-05T09:30:00.000Z",
    ]);
    expect(occurrences("5/30 * * * * *")).toEqual(["2026-11-21T13:15:35.000Z", "2026-11-21T13:16:05.000Z"]);
  });

  it("has second 0 when it has five fields", () => {
    expect(occurrences("*/5 * * * *")).toEqual(["2026-11-21T13:20:00.000Z", "2026-11-21T13:25:00.000Z"]);
  });

  it("asks for day of month and weekday both", () => {
    expect(occurrences("0 0 0 13 * 5")).toEqual(["2027-08-13T00:00:00.000Z", "2028-10-13T00:00:00.000Z"]);
  });

  it("may be a constant interval", () => {
    expect(occurrences("00:00:07")).toEqual(["2026-11-21T13:15:17.500Z", "2026-11-21T13:15:24.500Z"]);
    expect(parseTimeSpan("1.02:03:04")).toBe(93_784_000);
  });

  it("may never come", () => {
    expect(occurrences("0 0 0 31 2 *")).toEqual([]);
  });

  it.each([
    "",
    "soon",
    "* * * *",
    "* * * * * * 2030",
    "61 * * * * *",
    "@daily",
    "0 0 0 L * *",
    "0 0 0 ? * 1",
    "0 0 0 * * 7",
    "0 0 0 * * 5#2",
    "2030-01-01T00:00:00",
    "00:00:00",
    "24:00:00",
  ])("is not %j, which Azure would not take", expression => {
    expect(() => parseSchedule(expression)).toThrow("was not recognized as a valid cron expression or timespan string");
  });

  it("is frequent when two occurrences lie less than a minute apart", () => {
    expect(isFrequent(parseSchedule("0,30 0 * * * *"), from)).toBe(true);
    expect(isFrequent(parseSchedule("00:00:59"), from)).toBe(true);
    expect(isFrequent(parseSchedule("0 * * * * *"), from)).toBe(false);
    expect(isFrequent(parseSchedule("0 0 0 31 2 *"), from)).toBe(false);
  });
});
