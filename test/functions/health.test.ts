import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createHealthCheck } from "../../functions/health.ts";
import { createLog } from "../../lib/platform/log.ts";
import { instant } from "../../lib/platform/time.ts";

let time: number;
let asked: string[];
let lines: Readonly<Record<string, unknown>>[];
/** What each part does when it is asked. */
let parts: { storage: () => Promise<void>; vault: () => Promise<void> };

beforeEach(() => {
  time = Date.parse("2026-01-01T00:00:00Z");
  asked = [];
  lines = [];
  parts = { storage: async () => {}, vault: async () => {} };
});
afterEach(() => {
  vi.useRealTimers();
});

const health = () => {
  const check = (part: keyof typeof parts) => () => {
    asked.push(part);
    return parts[part]();
  };
  return createHealthCheck(
    { storage: check("storage"), vault: check("vault") },
    {
      now: () => instant(time),
      log: createLog((_, line) => lines.push(JSON.parse(line))),
      maxAgeMs: 10_000,
      timeLimitMs: 5_000,
    },
  );
};

describe("a deployment is healthy", () => {
  it("if storage and vault answered within the last 10 s; neither is asked again before", async () => {
    const healthy = health();
    expect(await healthy()).toBe(true);
    time += 9_999;
    parts.vault = () => Promise.reject(new Error("away"));
    expect(await healthy()).toBe(true);
    expect(asked).toEqual(["storage", "vault"]);
    time += 1;
    expect(await healthy()).toBe(false);
    expect(asked).toHaveLength(4);
  });

  it("checked again after the clock was set back", async () => {
    const healthy = health();
    expect(await healthy()).toBe(true);
    parts.storage = () => Promise.reject(new Error("away"));
    time -= 3_600_000;
    expect(await healthy()).toBe(false);
  });

  it("counted from when they were asked, not from when they answered", async () => {
    const healthy = health();
    parts.storage = async () => {
      time += 4_000;
    };
    expect(await healthy()).toBe(true);
    time += 6_000;
    parts.storage = () => Promise.reject(new Error("away"));
    expect(await healthy()).toBe(false);
  });

  it.each(["storage", "vault"] as const)(
    "no more where %s does not answer; the log says which, and all are asked again",
    async part => {
      const healthy = health();
      parts[part] = () => Promise.reject(new Error("away"));
      expect(await healthy()).toBe(false);
      expect(lines).toMatchObject([{ event: "unhealthy", part, error: { message: "away" } }]);
      parts[part] = async () => {};
      expect(await healthy()).toBe(true);
      expect(asked).toEqual(["storage", "vault", "storage", "vault"]);
    },
  );

  it("no more where a part answers too late", async () => {
    vi.useFakeTimers();
    const healthy = health();
    parts.vault = () => new Promise(() => {});
    const answer = healthy();
    await vi.advanceTimersByTimeAsync(4_999);
    expect(lines).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(await answer).toBe(false);
    expect(lines).toMatchObject([{ part: "vault", error: { name: "TimeoutError" } }]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("without a clock that runs on behind the answer", async () => {
    vi.useFakeTimers();
    expect(await health()()).toBe(true);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("by one round of asking for all who ask at once", async () => {
    const healthy = health();
    expect(await Promise.all([healthy(), healthy(), healthy()])).toEqual([true, true, true]);
    expect(asked).toEqual(["storage", "vault"]);
  });
});
