import { describe, expect, it } from "vitest";
import { type KeyVerdict, toVerdict } from "../../../../../lib/auth/otpkeys/kinds/verdict.ts";

const state = { counter: 5 };
const nextState = { counter: 6 };
const key = { state, failures: 3, stopped: false, enabled: true };
const now = "2031-01-01T00:00:00.000Z";
const counted = { countsAgainstKey: true, stopAfter: 100, now };
const uncounted = { countsAgainstKey: false, stopAfter: 100, now };
const valid = { outcome: "valid", nextState } as const;
const wrong = ["out_of_step", "replayed", "invalid"] as const;

describe("an OTP of an enabled key", () => {
  it("that is genuine is used up; success clears the failures", () => {
    expect(toVerdict(key, valid, counted)).toEqual({
      outcome: "valid",
      next: { state: nextState, failures: 0, stopped: false },
    });
  });

  it("that is genuine is used up where nothing counts too, and the failures stay", () => {
    expect(toVerdict(key, valid, uncounted)).toEqual({
      outcome: "valid",
      next: { state: nextState, failures: 3, stopped: false },
    });
  });

  it.each(wrong)("that is %s counts where it may", outcome => {
    expect(toVerdict(key, { outcome }, counted)).toEqual({ outcome, next: { state, failures: 4, stopped: false } });
    expect(toVerdict(key, { outcome }, uncounted)).toEqual({ outcome });
  });

  it("that is too far ahead is remembered, counted or not", () => {
    const ahead = { outcome: "out_of_step", nextState: { counter: 5, resync: 40 } } as const;
    expect(toVerdict(key, ahead, uncounted).next?.state).toEqual(ahead.nextState);
    expect(toVerdict(key, ahead, counted).next).toEqual({ state: ahead.nextState, failures: 4, stopped: false });
  });

  it("without a verdict changes nothing", () => {
    expect(toVerdict(key, { outcome: "unavailable" }, counted)).toEqual({ outcome: "unavailable" });
  });

  it.each(wrong)("that is %s stops the key at the hundredth in a row, not before", outcome => {
    const at = (failures: number) => toVerdict({ ...key, failures }, { outcome }, counted).next;
    expect(at(98)).toEqual({ state, failures: 99, stopped: false });
    expect(at(99)).toEqual({ state, failures: 100, stopped: true });
  });
});

describe("an OTP of a key that never verifies", () => {
  it.each([
    ["disabled", { ...key, enabled: false }],
    ["not_yet_valid", { ...key, validFrom: "2031-01-01T00:00:00.001Z" }],
    ["expired", { ...key, validUntil: now }],
    ["stopped", { ...key, failures: 100, stopped: true }],
    ["disabled", { ...key, failures: 100, stopped: true, enabled: false }],
  ] as const)("that is %s is used up all the same, and nothing counts", (outcome, closed) => {
    const { failures, stopped } = closed;
    for (const counts of [counted, uncounted]) {
      expect(toVerdict(closed, valid, counts)).toEqual({ outcome, next: { state: nextState, failures, stopped } });
      expect(toVerdict(closed, { outcome: "invalid" }, counts)).toEqual({ outcome });
    }
  });

  it("accepts OTPs from the first millisecond of its time on", () => {
    const limited = { ...key, validFrom: now, validUntil: "2031-01-01T00:00:00.001Z" };
    expect(toVerdict(limited, valid, counted).outcome).toBe("valid");
  });

  it("stays stopped by its row under any limit", () => {
    const stopped = { ...key, failures: 50, stopped: true };
    expect(toVerdict(stopped, valid, counted).outcome satisfies KeyVerdict["outcome"]).toBe("stopped");
  });
});
