import { setImmediate } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { createHashQueue, type HashQueueOptions, OverloadFault } from "../../../../lib/auth/passwords/hash-queue.ts";
import { instant } from "../../../../lib/platform/time.ts";

let nowMs = 0;
let nextRandom = 0;
const queueOf = (options: Partial<HashQueueOptions> = {}) =>
  createHashQueue({
    maxConcurrent: 1,
    maxSlots: 8,
    maxWaitMs: 2000,
    now: () => instant(nowMs),
    random: () => Uint8Array.of(nextRandom++ % 256),
    ...options,
  });
type Queue = ReturnType<typeof queueOf>;

/** Acquires slots until there is none. Returns them. */
function fill(queue: Queue, isKnown: boolean, deviceUserId?: number) {
  const slots = [];
  for (;;) {
    try {
      slots.push(queue.acquireSlot({ isKnown, deviceUserId }));
    } catch (error) {
      expect(error).toBeInstanceOf(OverloadFault);
      return slots;
    }
  }
}

describe("the slots of the queue", () => {
  it.each([true, false])("keep a quarter for other callers during a flood of callers who are known: %s", isKnown => {
    const queue = queueOf();
    expect([fill(queue, isKnown).length, fill(queue, !isKnown).length]).toEqual([6, 2]);
  });

  it("are four for the devices of a user, beyond which they count as unknown callers, and free again when released", () => {
    const queue = queueOf({ maxSlots: 16 });
    const flood = fill(queue, false, 1);
    expect(flood).toHaveLength(16);
    for (const slot of flood.splice(0, 2)) {
      slot.release();
      slot.release();
    }
    expect(fill(queue, false)).toHaveLength(0);
    expect(fill(queue, false, 1)).toHaveLength(2);
    for (const slot of flood.splice(0, 2)) slot.release();
    expect(fill(queue, false, 2)).toHaveLength(2);
  });

  it("are given to the next caller when released, once", () => {
    const queue = queueOf();
    const [first] = fill(queue, false);
    first?.release();
    first?.release();
    first?.[Symbol.dispose]();
    expect(fill(queue, false)).toHaveLength(1);
  });

  it("ask refused callers to come back at different times within 10 seconds", () => {
    const queue = queueOf({ maxSlots: 0 });
    const times = new Set<number>();
    for (let n = 0; n < 256; n++) {
      try {
        queue.acquireSlot({ isKnown: n % 2 === 0 });
      } catch (error) {
        times.add((error as OverloadFault).retryAfterSeconds ?? 0);
      }
    }
    expect([...times].sort((a, b) => a - b)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  });
});

describe("the turns of unknown callers", () => {
  const waiting = (queue: Queue, count: number) => {
    const begun: number[] = [];
    const slots = Array.from({ length: count }, () => queue.acquireSlot({ isKnown: false }));
    const turns = slots.map((slot, n) => slot.waitTurn().then(() => begun.push(n)));
    return { begun, slots, turns };
  };

  it("come in order, eight for each hash in progress, the next when one before is released", async () => {
    const { begun, slots } = waiting(queueOf({ maxConcurrent: 2, maxSlots: 100 }), 18);
    await setImmediate();
    expect(begun).toHaveLength(16);
    slots[7]?.release();
    await setImmediate();
    expect(begun.slice(16)).toEqual([16]);
  });

  it("do not delay a known caller", async () => {
    const queue = queueOf({ maxSlots: 100 });
    waiting(queue, 20);
    await queue.acquireSlot({ isKnown: true }).waitTurn();
  });

  it("delay the fifth attempt at once on the devices of a user, and none before", async () => {
    const queue = queueOf({ maxSlots: 100 });
    waiting(queue, 8);
    const slots = Array.from({ length: 5 }, () => queue.acquireSlot({ isKnown: false, deviceUserId: 1 }));
    const begun: number[] = [];
    slots.forEach((slot, n) => void slot.waitTurn().then(() => begun.push(n)));
    await setImmediate();
    expect(begun).toEqual([0, 1, 2, 3]);
  });

  it.each([
    ["are refused after the maximum wait", 2001, "overloaded"],
    ["are given after the maximum wait exactly", 2000, undefined],
  ])("%s", async (_, waitedMs, reason) => {
    const { slots, turns } = waiting(queueOf({ maxSlots: 100 }), 9);
    const last = turns.at(-1)?.then(
      () => undefined,
      error => error.reason,
    );
    await setImmediate();
    nowMs += waitedMs;
    slots[0]?.release();
    expect(await last).toBe(reason);
  });
});

describe("an overload", () => {
  it("has no stack frames, because their capture costs more than the rest of the refusal, and later errors have theirs", () => {
    expect(new OverloadFault(1).stack).not.toContain(" at ");
    expect(new Error("later").stack).toContain(" at ");
  });
});
