import { describe, expect, it } from "vitest";
import { createHashTurns } from "../../../../lib/auth/passwords/hash-turns.ts";

/** Turns of which two begin at once. The time passes by `pass`; a hash takes 20 ms. */
function turnsOf() {
  const sleeps: { readonly ms: number; readonly end: () => void }[] = [];
  const turns = createHashTurns({
    maxStarted: 2,
    perHashMs: () => 20,
    sleep: ms => new Promise(resolve => sleeps.push({ ms, end: resolve })),
  });
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  return {
    begun,
    /** Asks for turns, which are noted when they begin. Names that begin with `known` are known callers. */
    async ask(...names: readonly string[]) {
      for (const name of names)
        void turns.next(name.startsWith("known")).then(end => {
          begun.push(name);
          ends.set(name, end);
        });
      await settled();
    },
    async end(name: string) {
      ends.get(name)?.();
      await settled();
    },
    /** Lets all sleeps end. Returns how long they were. */
    async pass(): Promise<readonly number[]> {
      const ended = sleeps.splice(0);
      for (const { end } of ended) end();
      await settled();
      return ended.map(({ ms }) => ms);
    },
  };
}

/** Waits until nothing is left to do but what waits for time. */
const settled = () => new Promise(resolve => setImmediate(resolve));

describe("the turns of attempts", () => {
  it("begin at once up to the maximum, then each when another one has ended", async () => {
    const turns = turnsOf();
    await turns.ask("a", "b", "c", "d");
    expect(turns.begun).toEqual(["a", "b"]);
    await turns.end("b");
    expect(turns.begun).toEqual(["a", "b", "c"]);
    await turns.end("b");
    expect(turns.begun).toEqual(["a", "b", "c"]);
    await turns.end("a");
    await turns.end("c");
    await turns.end("d");
    await turns.ask("e", "f", "g");
    expect(turns.begun).toEqual(["a", "b", "c", "d", "e", "f"]);
  });

  it("alternate between known and unknown callers while both wait", async () => {
    const turns = turnsOf();
    await turns.ask("a", "b", "c", "d", "e", "known 1", "known 2");
    for (const ended of ["a", "b", "known 1", "c", "known 2", "d"]) await turns.end(ended);
    expect(turns.begun).toEqual(["a", "b", "known 1", "c", "known 2", "d", "e"]);
  });

  it("give the next one to a known caller after an unknown one, however many wait", async () => {
    const turns = turnsOf();
    await turns.ask("a", "b", "c", "d");
    await turns.end("a");
    await turns.ask("known 1");
    await turns.end("b");
    expect(turns.begun).toEqual(["a", "b", "c", "known 1"]);
  });

  it("begin one by one, in the time of a hash each, while no other one ends, so that slow storage does not slow down the queue", async () => {
    const turns = turnsOf();
    await turns.ask("a", "b", "c", "d", "e");
    expect(await turns.pass()).toEqual([20]);
    expect(turns.begun).toEqual(["a", "b", "c"]);
    await turns.pass();
    expect(turns.begun).toEqual(["a", "b", "c", "d"]);
    // More than the maximum have begun, so the end of one is not the turn of the next.
    await turns.end("a");
    expect(turns.begun).toEqual(["a", "b", "c", "d"]);
  });

  it("do not begin early by time if one has begun meanwhile", async () => {
    const turns = turnsOf();
    await turns.ask("a", "b", "c", "d");
    await turns.end("a");
    await turns.pass();
    expect(turns.begun).toEqual(["a", "b", "c"]);
  });

  it("keep no timer when none waits", async () => {
    const turns = turnsOf();
    await turns.ask("a", "b", "c");
    await turns.end("a");
    expect(await turns.pass()).toEqual([20]);
    expect(await turns.pass()).toEqual([]);
    await turns.ask("d");
    expect(await turns.pass()).toEqual([20]);
    expect(turns.begun).toEqual(["a", "b", "c", "d"]);
  });
});
