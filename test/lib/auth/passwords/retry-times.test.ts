import { describe, expect, it } from "vitest";
import { createRetryTimes, type RetryTimesOptions } from "../../../../lib/auth/passwords/retry-times.ts";
import { instant } from "../../../../lib/platform/time.ts";

/** A clock that stands still, and the lowest random number. */
const timesOf = (options: Partial<RetryTimesOptions> = {}) =>
  createRetryTimes({ spreadMs: 4000, now: () => instant(0), random: size => new Uint8Array(size), ...options });

/** Random numbers that follow each other in even steps. */
function evenly() {
  let last = 0;
  return (size: number) => {
    last = (last + 101) % 256;
    return new Uint8Array(size).fill(last);
  };
}

/** How many of these callers come back in each second. */
const bySecond = (waits: readonly number[]) => {
  const counts: number[] = Array.from({ length: Math.max(...waits) + 1 }, () => 0);
  for (const wait of waits) counts[wait] = (counts[wait] ?? 0) + 1;
  return counts;
};

describe("the times at which refused callers come back", () => {
  it("spreads single callers at random over the spread", () => {
    const waits = [0, 64, 128, 255].map(byte => timesOf({ random: size => new Uint8Array(size).fill(byte) }).next(20));
    expect(waits).toEqual([1, 2, 3, 4]);
  });

  it("lets as many callers come back in a second as the host hashes passwords", () => {
    const times = timesOf();
    const waits = Array.from({ length: 500 }, () => times.next(20));
    expect(bySecond(waits).slice(1)).toEqual(Array.from({ length: 10 }, () => 50));
  });

  it("lets at most 100 callers come back in a second on the fastest machine", () => {
    const times = timesOf();
    const waits = Array.from({ length: 1000 }, () => times.next(1));
    expect(Math.max(...bySecond(waits))).toBe(100);
  });

  it("spreads a flood that has no room within 20 seconds over all of them", () => {
    const times = timesOf({ random: evenly() });
    const waits = Array.from({ length: 10_000 }, () => times.next(20));
    expect(Math.min(...waits)).toBe(1);
    expect(Math.max(...waits)).toBe(20);
    const later = bySecond(waits.slice(1000)).slice(1);
    expect(Math.max(...later)).toBeLessThan(500);
    expect(Math.min(...later)).toBeGreaterThan(400);
  });

  it("asks the next caller to come back soon once the times that it gave have passed", () => {
    let nowMs = 0;
    const times = timesOf({ now: () => instant(nowMs) });
    for (let caller = 0; caller < 10_000; caller++) times.next(20);
    const full = 16_000;
    nowMs = full - 5000;
    expect(times.next(20)).toBe(6);
    nowMs = full + 5000;
    expect(times.next(20)).toBe(1);
  });

  it("asks for at most 20 seconds when a hash takes a minute", () => {
    const times = timesOf({ random: size => new Uint8Array(size).fill(255) });
    expect(Array.from({ length: 10 }, () => times.next(60_000))).toEqual(Array.from({ length: 10 }, () => 20));
  });

  it("asks for at most 20 seconds when a hash may wait an hour", () => {
    for (const byte of [0, 255]) {
      const times = timesOf({ spreadMs: 7_200_000, random: size => new Uint8Array(size).fill(byte) });
      const waits = Array.from({ length: 10 }, () => times.next(20));
      expect(waits).toEqual(waits.map(() => (byte === 0 ? 1 : 20)));
    }
  });

  it("has free times again soon after the clock was set back", () => {
    let nowMs = 3_600_000;
    const times = timesOf({ now: () => instant(nowMs) });
    times.next(20);
    nowMs = 0;
    times.next(20);
    nowMs = 10_000;
    expect(times.next(20)).toBe(11);
    nowMs = 30_000;
    expect(times.next(20)).toBe(1);
    nowMs = 30_040;
    expect(Array.from({ length: 100 }, () => times.next(20)).at(-1)).toBe(2);
  });
});
