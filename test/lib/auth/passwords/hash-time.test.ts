import { describe, expect, it } from "vitest";
import { createHashTime } from "../../../../lib/auth/passwords/hash-time.ts";
import { instant } from "../../../../lib/platform/time.ts";

/** An estimate whose clock moves by `advance` alone. */
function stillTime() {
  let nowMs = 0;
  const time = createHashTime(() => instant(nowMs));
  const advance = (ms: number) => {
    nowMs += ms;
  };
  /** Measures batches of hashes that start and end together. */
  const measure = async (batches: number, { together, ms }: { together: number; ms: number }) => {
    for (let batch = 0; batch < batches; batch++) {
      const gate = Promise.withResolvers<void>();
      const all = Array.from({ length: together }, () => time.measure(() => gate.promise));
      advance(ms);
      gate.resolve();
      await Promise.all(all);
    }
  };
  return { time, advance, measure };
}

describe("the estimated time of a hash", () => {
  it("follows the measured time", async () => {
    const { time, measure } = stillTime();
    await measure(100, { together: 1, ms: 60 });
    expect(time.perHashMs()).toBeCloseTo(60, 0);
    await measure(100, { together: 1, ms: 10 });
    expect(time.perHashMs()).toBeCloseTo(10, 0);
  });

  it("is divided by the number of hashes in progress, which share the cores", async () => {
    const { time, measure } = stillTime();
    await measure(100, { together: 4, ms: 80 });
    expect(time.perHashMs()).toBeGreaterThan(19);
    expect(time.perHashMs()).toBeLessThan(40);
  });

  it("changes little by one hash that took long", async () => {
    const { time, measure } = stillTime();
    const before = time.perHashMs();
    await measure(1, { together: 1, ms: 60_000 });
    expect(time.perHashMs()).toBeLessThan(before * 1.2);
  });

  it("never becomes zero, also when the clock does not move or goes back", async () => {
    const { time, measure } = stillTime();
    await measure(500, { together: 1, ms: 0 });
    await measure(10, { together: 1, ms: -60_000 });
    expect(time.perHashMs()).toBeGreaterThanOrEqual(1);
    await measure(100, { together: 1, ms: 40 });
    expect(time.perHashMs()).toBeCloseTo(40, 0);
  });

  it("does not change by a hash that fails, which can fail at once", async () => {
    const { time } = stillTime();
    const before = time.perHashMs();
    const fails = () => time.measure(() => Promise.reject(new Error("no memory")));
    for (let n = 0; n < 50; n++) await expect(fails()).rejects.toThrow("no memory");
    expect(time.perHashMs()).toBe(before);
  });
});
