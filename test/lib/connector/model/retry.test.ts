import { describe, expect, test } from "vitest";
import { firstAttempt, postpone, type Retry, waitUntil } from "../../../../lib/connector/model/retry.ts";
import { between, hours, minutes, plus, seconds } from "../../../../lib/platform/time.ts";

const now = "2026-01-10T10:00:00.000Z";
const backOff = { minMs: minutes(1), maxMs: hours(1) };

describe("postpone", () => {
  test("doubles the wait with each attempt up to the maximum", () => {
    let retry: Retry = firstAttempt(now);
    const waits: number[] = [];
    for (let attempt = 0; attempt < 8; attempt++) {
      retry = postpone(retry, now, backOff);
      waits.push(between(now, retry.nextAt) / minutes(1));
    }
    expect(waits).toEqual([1, 2, 4, 8, 16, 32, 60, 60]);
    expect(retry).toEqual({ attempts: 8, nextAt: plus(now, hours(1)) });
    expect(postpone({ attempts: 5000 }, now, backOff).nextAt).toBe(plus(now, hours(1)));
  });

  test("waits for the peer's Retry-After if it is longer than the back-off, and for the back-off otherwise", () => {
    expect(postpone(firstAttempt(now), now, backOff, { retryAfterSeconds: 90, lastError: "away" })).toEqual({
      attempts: 1,
      nextAt: plus(now, seconds(90)),
      notBefore: plus(now, seconds(90)),
      lastError: "away",
    });
    expect(postpone({ attempts: 2 }, now, backOff, { retryAfterSeconds: 90 })).toEqual({
      attempts: 3,
      nextAt: plus(now, minutes(4)),
      notBefore: plus(now, seconds(90)),
    });
  });

  test("keeps neither the Retry-After nor the reason of an earlier attempt", () => {
    const before = { attempts: 1, nextAt: now, notBefore: now, lastError: "away" };
    expect(postpone(before, now, backOff)).toEqual({ attempts: 2, nextAt: plus(now, minutes(2)) });
  });

  test("plans the next attempt no later than the limit, even if the peer asks for a longer wait", () => {
    const latest = plus(now, seconds(30));
    expect(postpone(firstAttempt(now), now, backOff, { retryAfterSeconds: 90, latest })).toEqual({
      attempts: 1,
      nextAt: latest,
      notBefore: latest,
    });
  });
});

test("waitUntil counts no attempt, and keeps the last reason unless it gets a new one", () => {
  const before = { attempts: 3, nextAt: now, lastError: "away" };
  const at = plus(now, minutes(1));
  expect(waitUntil(at, before)).toEqual({ attempts: 3, nextAt: at, notBefore: at, lastError: "away" });
  expect(waitUntil(at, before, "refused")).toMatchObject({ attempts: 3, lastError: "refused" });
  expect(waitUntil(at, undefined)).toEqual({ attempts: 0, nextAt: at, notBefore: at });
});
