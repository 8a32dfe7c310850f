import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isNcrontab } from "../../../../lib/platform/settings/setting.ts";
import { parseSchedule } from "../../../../local/host/schedule.ts";
import { forAll } from "../../../support/for-all.ts";

describe("a schedule of six fields", () => {
  it.each([
    "0 0 * * * *",
    "0 30 * * * *",
    "*/5 * * * * *",
    " 59  59 23 31 12 6 ",
    "0 0,15,30-45/5 8-18/2 1 jan-DEC mon-Fri",
    "0 0 0 29 2 *",
  ])("is %j", text => {
    expect(isNcrontab(text)).toBe(true);
  });

  it.each([
    "",
    "* * * * *",
    "* * * * * * *",
    "60 * * * * *",
    "* 60 * * * *",
    "* * 24 * * *",
    "* * * 0 * *",
    "* * * 32 * *",
    "* * * * 0 *",
    "* * * * 13 *",
    "* * * * * 7",
    "* * * * mon *",
    "* * * * * jan",
    "*/0 * * * * *",
    "*/60 * * * * *",
    "/5 * * * * *",
    "*-5 * * * * *",
    "5-1 * * * * *",
    "1, * * * * *",
    "1--2 * * * * *",
    "1.5 * * * * *",
    "@hourly",
    "0 0 L * * *",
    "00:05:00",
    "must be six fields of words",
  ])("is not %j", text => {
    expect(isNcrontab(text)).toBe(false);
  });

  it("is one that the host accepts too", () => {
    const value = fc.constantFrom("*", "0", "1", "5", "12", "31", "59", "60", "mon", "Sun", "feb", "7", "x");
    const part = fc
      .tuple(value, fc.option(value), fc.option(fc.constantFrom("0", "1", "2", "15", "99")))
      .map(([from, to, step]) => `${from}${to === null ? "" : `-${to}`}${step === null ? "" : `/${step}`}`);
    const field = fc.array(part, { minLength: 1, maxLength: 2 }).map(parts => parts.join(","));
    const taken = fc.array(field, { minLength: 6, maxLength: 6 }).map(parts => parts.join(" "));
    const mixed = fc.tuple(taken, fc.subarray([0, 1, 2, 3, 4, 5], { minLength: 4 })).map(([text, plain]) =>
      text
        .split(" ")
        .map((one, index) => (plain.includes(index) ? "*" : one))
        .join(" "),
    );
    let accepted = 0;
    forAll(mixed, text => {
      if (!isNcrontab(text)) return;
      accepted += 1;
      expect(() => parseSchedule(text)).not.toThrow();
    });
    expect(accepted).toBeGreaterThan(5);
  });
});
