import { setTimeout } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import {
  createHashPlaces,
  type HashCaller,
  type HashPlace,
  type HashPlacesOptions,
  knownCaller,
  OverloadFault,
} from "../../../../lib/auth/passwords/hash-places.ts";
import { instant } from "../../../../lib/platform/time.ts";

/** Places for two seconds of hashes of 20 ms each: 100. */
const placesOf = (options: Partial<HashPlacesOptions> = {}) =>
  createHashPlaces({
    maxWaitMs: 2000,
    maxConcurrent: 4,
    perHashMs: () => 20,
    now: () => instant(0),
    random: size => new Uint8Array(size),
    sleep: setTimeout,
    ...options,
  });

/** Takes places until one is refused. */
function takeAll(places: ReturnType<typeof placesOf>, caller: (n: number) => HashCaller): readonly HashPlace[] {
  const taken: HashPlace[] = [];
  try {
    for (;;) taken.push(places.take(caller(taken.length)));
  } catch (error) {
    expect(error).toBeInstanceOf(OverloadFault);
  }
  return taken;
}

let names = 0;
const unknownCaller = (): HashCaller => ({ isKnown: false, name: `unknown ${names++}` });

describe("the queue of password hashes", () => {
  it("has as many places as hashes are expected to end in the maximum wait", () => {
    let perHashMs = 20;
    const places = placesOf({ perHashMs: () => perHashMs });
    const all = takeAll(places, () => knownCaller);
    expect(all).toHaveLength(100);
    perHashMs = 10;
    expect(takeAll(places, () => knownCaller)).toHaveLength(100);
    perHashMs = 40;
    for (const place of all) place.release();
    expect(takeAll(places, () => knownCaller)).toHaveLength(0);
  });

  it("has a few places on the slowest machine and at most 1,000 on the fastest, which bounds memory", () => {
    expect(takeAll(placesOf({ perHashMs: () => 60_000 }), () => knownCaller)).toHaveLength(16);
    expect(takeAll(placesOf({ perHashMs: () => 0.1 }), () => knownCaller)).toHaveLength(1000);
  });

  it("keeps a quarter for known callers during a flood of unknown callers", () => {
    const places = placesOf();
    expect(takeAll(places, unknownCaller)).toHaveLength(75);
    expect(takeAll(places, () => knownCaller)).toHaveLength(25);
  });

  it("keeps a quarter for known callers, and one for other unknown callers, also when hashes become slower in a flood", () => {
    let perHashMs = 20;
    const places = placesOf({ perHashMs: () => perHashMs });
    const flood = takeAll(places, n => ({ isKnown: false, name: `flooded ${n % 20}` }));
    expect(flood).toHaveLength(50);
    perHashMs = 50;
    // 40 places now, fewer than are taken.
    expect(takeAll(places, n => ({ isKnown: false, name: `flooded ${n % 20}` }))).toHaveLength(0);
    const known = takeAll(places, () => knownCaller);
    expect(known).toHaveLength(10);
    for (const place of [...known, ...flood.slice(0, 20)]) place.release();
    expect(takeAll(places, unknownCaller)).toHaveLength(10);
    expect(takeAll(places, () => knownCaller)).toHaveLength(10);
  });

  it("keeps half for names that are not in it, when others repeat theirs", () => {
    const places = placesOf();
    const flood = takeAll(places, n => ({ isKnown: false, name: `flooded ${n % 20}` }));
    expect(flood).toHaveLength(50);
    expect(takeAll(places, unknownCaller)).toHaveLength(25);
  });

  it("keeps half for addresses that are not in it, when one address sends ever new names", () => {
    const places = placesOf();
    const from = (address: string) => (n: number) => ({ isKnown: false, name: `${address} ${n}`, address });
    expect(takeAll(places, from("203.0.113.1"))).toHaveLength(50);
    expect(takeAll(places, from("203.0.113.2"))).toHaveLength(1);
    expect(takeAll(places, n => from(`198.51.100.${n}`)(n))).toHaveLength(24);
  });

  it("gives one name at most an eighth, also that of a known caller", () => {
    for (const isKnown of [true, false]) {
      expect(takeAll(placesOf(), () => ({ isKnown, name: "one" }))).toHaveLength(13);
      // The slots of a throttle are ten.
      expect(takeAll(placesOf({ perHashMs: () => 50 }), () => ({ isKnown, name: "one" }))).toHaveLength(10);
    }
  });

  it("does not take a name for an address of the same text", () => {
    const places = placesOf();
    takeAll(places, n => ({ isKnown: false, name: `flood ${n}`, address: "203.0.113.1" }));
    expect(takeAll(places, () => ({ isKnown: false, name: "203.0.113.1" }))).toHaveLength(1);
  });

  it("gives a released place to the next caller, once", () => {
    const places = placesOf();
    const [first, ...others] = takeAll(places, unknownCaller);
    first?.release();
    first?.release();
    expect(takeAll(places, unknownCaller)).toHaveLength(1);
    for (const place of others) place.release();
    expect(takeAll(places, unknownCaller)).toHaveLength(74);
  });

  it("forgets a name when its last place is released", () => {
    const places = placesOf();
    const one = { isKnown: false, name: "one" };
    const [first, second] = [places.take(one), places.take(one)];
    first.release();
    const flood = Array.from({ length: 49 }, () => places.take(unknownCaller()));
    expect(() => places.take(one)).toThrow(OverloadFault);
    second.release();
    places.take(unknownCaller());
    places.take(one);
    for (const place of flood) place.release();
  });

  it("gives the turn of a place that is released to the next one, also while it waits for its turn", async () => {
    const places = placesOf({ maxConcurrent: 1, sleep: () => new Promise(() => {}) });
    const all = takeAll(places, () => knownCaller);
    const begun: number[] = [];
    const turns = all.map((place, index) => place.turn().then(() => begun.push(index)));
    await Promise.all(turns.slice(0, 8));
    expect(begun).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    all[8]?.release();
    all[0]?.release();
    await Promise.all([turns[8], turns[9]]);
    expect(begun).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  });

  it("does not make a known caller wait for the times that a flood of unknown callers has been given", () => {
    const places = placesOf();
    const retryAfter = (caller: HashCaller) => {
      try {
        places.take(caller);
      } catch (error) {
        expect(error).toMatchObject({ kind: "unavailable" });
        return (error as OverloadFault).retryAfter;
      }
      return undefined;
    };
    takeAll(places, unknownCaller);
    const waits = Array.from({ length: 500 }, () => retryAfter(unknownCaller()));
    expect(waits.at(-1)).toBe(11);
    takeAll(places, () => knownCaller);
    expect(retryAfter(knownCaller)).toBe(1);
  });
});

describe("an overload fault", () => {
  it("has no stack frames, because their capture costs more than the rest of the refusal of a place", () => {
    expect(new OverloadFault(1).stack).not.toContain("\n    at ");
  });

  it("leaves the stack frames of later errors as they are", () => {
    new OverloadFault(1);
    expect(new Error("later").stack).toContain("\n    at ");
  });
});
