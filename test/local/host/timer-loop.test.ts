import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { parseSchedule } from "../../../local/host/schedule.ts";
import { createTimer } from "../../../local/host/timers.ts";

let runs: { readonly at: string; readonly end: (error?: Error) => void }[];
let tracked: Promise<void>[];
let stop: () => void;

function begin(expression: string) {
  const timer = createTimer(
    {
      kind: "timer",
      name: "tick",
      registered: { metadata: { name: "tick", bindings: {} }, callback: () => {} },
      inputName: "timer",
      disabled: false,
      schedule: parseSchedule(expression),
    },
    {
      track: run => tracked.push(run),
      invoke: () =>
        new Promise((resolve, reject) => {
          runs.push({ at: new Date().toISOString(), end: error => (error ? reject(error) : resolve({})) });
        }),
    },
  );
  timer.start();
  stop = timer.stop;
}
const times = () => runs.map(({ at }) => at.slice(11));

beforeEach(() => {
  runs = [];
  tracked = [];
  vi.useFakeTimers({ now: new Date("2026-11-21T13:15:00.200Z") });
});
afterEach(() => {
  stop();
  vi.useRealTimers();
});

describe("a timer's runs", () => {
  it("never overlap; all occurrences during a run become one run at its end", async () => {
    begin("*/10 * * * * *");
    await vi.advanceTimersByTimeAsync(35_000);
    expect(times()).toEqual(["13:15:10.000Z"]);
    runs[0]?.end();
    await vi.advanceTimersByTimeAsync(0);
    expect(times()).toEqual(["13:15:10.000Z", "13:15:35.200Z"]);
    runs[1]?.end();
    await vi.advanceTimersByTimeAsync(4_799);
    expect(times()).toHaveLength(2);
    await vi.advanceTimersByTimeAsync(1);
    expect(times()[2]).toBe("13:15:40.000Z");
  });

  it("do not start after a stop, which waits for the run in progress", async () => {
    begin("*/10 * * * * *");
    await vi.advanceTimersByTimeAsync(10_000);
    stop();
    runs[0]?.end();
    await Promise.all(tracked);
    await vi.advanceTimersByTimeAsync(60_000);
    expect([times(), tracked.length]).toEqual([["13:15:10.000Z"], 1]);
  });

  it("can wait longer than one call of setTimeout", async () => {
    begin("0 0 0 1 3 *");
    await vi.advanceTimersByTimeAsync(90 * 86_400_000);
    expect(times()).toEqual([]);
    await vi.advanceTimersByTimeAsync(10 * 86_400_000);
    expect(runs.map(({ at }) => at)).toEqual(["2027-03-01T00:00:00.000Z"]);
  });

  it("continue after one that fails", async () => {
    begin("*/10 * * * * *");
    await vi.advanceTimersByTimeAsync(10_000);
    runs[0]?.end(new Error("failed"));
    await vi.advanceTimersByTimeAsync(10_000);
    expect(times()).toEqual(["13:15:10.000Z", "13:15:20.000Z"]);
  });
});
