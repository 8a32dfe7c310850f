import { setImmediate } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { createRequestQueue } from "../../../../local/host/http/request-queue.ts";

describe("the queue of requests", () => {
  it("starts at most 32 functions in one turn of the event loop, in the order of their requests", async () => {
    const queue = createRequestQueue();
    const started: number[] = [];
    const startedByTurn: number[] = [];
    const all = Array.from({ length: 100 }, (_, request) =>
      queue(async () => {
        started.push(request);
      }),
    );
    // The first ones start in this turn.
    await new Promise<void>(resolve => process.nextTick(resolve));
    while (started.length < 100) {
      startedByTurn.push(started.length);
      await setImmediate();
    }
    await Promise.all(all);
    expect(started).toEqual(Array.from({ length: 100 }, (_, request) => request));
    const before = [0, ...startedByTurn];
    expect(Math.max(...[...startedByTurn, 100].map((count, turn) => count - (before[turn] ?? 0)))).toBe(32);
  });
});
