import { describe, expect, it } from "vitest";
import { type KeyVerdict, toVerdict } from "../../../../lib/auth/sign-in/verdict.ts";

const state = { counter: 5 };
const nextState = { counter: 6 };
const key = {
  id: 1,
  prefix: "ubhe0001",
  createdAt: "2030-01-01T00:00:00.000Z",
  parameters: { digits: 6, state },
  failures: 3,
  stopped: false,
  enabled: true,
};
const now = "2031-01-01T00:00:00.000Z";
const counted = { isCounted: true, isTemporary: false, stopAfter: 100, now };
const uncounted = { ...counted, isCounted: false };
const used = { parameters: { digits: 6, state: nextState } };
const valid = { outcome: "valid", nextState } as const;
const wrong = ["out_of_step", "replayed", "invalid"] as const;

describe("an OTP of an enabled key", () => {
  it("that is genuine is used up; success clears the failures", () => {
    expect(toVerdict(key, valid, counted)).toEqual({
      outcome: "valid",
      next: { ...key, ...used, failures: 0, lastUsed: now },
    });
  });

  it("that is genuine is used up where nothing counts too, and the failures stay", () => {
    expect(toVerdict(key, valid, uncounted)).toEqual({
      outcome: "valid",
      next: { ...key, ...used, lastUsed: now },
    });
  });

  it.each(wrong)("that is %s counts where it may", outcome => {
    expect(toVerdict(key, { outcome }, counted)).toEqual({ outcome, next: { ...key, failures: 4 } });
    expect(toVerdict(key, { outcome }, uncounted)).toEqual({ outcome });
  });

  it("that is too far ahead is remembered, counted or not", () => {
    const ahead = { outcome: "out_of_step", nextState: { counter: 5, resync: 40 } } as const;
    expect(toVerdict(key, ahead, uncounted).next?.parameters.state).toEqual(ahead.nextState);
    expect(toVerdict(key, ahead, counted).next).toEqual({
      ...key,
      parameters: { digits: 6, state: ahead.nextState },
      failures: 4,
    });
  });

  it("without a verdict changes nothing", () => {
    expect(toVerdict(key, { outcome: "unavailable" }, counted)).toEqual({ outcome: "unavailable" });
  });

  it.each(wrong)("that is %s stops the key at the hundredth in a row, not before", outcome => {
    const at = (failures: number) => toVerdict({ ...key, failures }, { outcome }, counted).next;
    expect(at(98)).toEqual({ ...key, failures: 99 });
    expect(at(99)).toEqual({ ...key, failures: 100, stopped: true, stoppedAt: now });
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
    for (const counts of [counted, uncounted]) {
      expect(toVerdict(closed, valid, counts)).toEqual({ outcome, next: { ...closed, ...used } });
      expect(toVerdict(closed, { outcome: "invalid" }, counts)).toEqual({ outcome });
    }
  });

  it("stays disabled for a typed temporary code if none was issued", () => {
    const disabled = { ...key, enabled: false };
    expect(toVerdict(disabled, { outcome: "invalid" }, { ...counted, isTemporary: true })).toEqual({
      outcome: "disabled",
    });
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
