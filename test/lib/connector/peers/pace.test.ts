import { describe, expect, test } from "vitest";
import { type Pace, peerPaces } from "../../../../lib/connector/peers/pace.ts";
import { PeerFailure, type PeerFailureKind } from "../../../../lib/platform/peers/peer-failure.ts";
import { instant, minutes, plus } from "../../../../lib/platform/time.ts";

const failed = (kind: PeerFailureKind, status?: number) => new PeerFailure("IdP", "registration", kind, { status });
const throttled = failed("throttled", 429);

function paced(highest = 64) {
  let now = instant(0);
  const pace = peerPaces(highest, () => now).of("IdP");
  const advance = (ms: number) => {
    now = plus(now, ms);
  };
  /** Makes calls that take so long, all at once as far as the limit allows. Returns the most that were in progress. */
  const calls = async (count: number, { ms = 200, failure }: { ms?: number; failure?: PeerFailure } = {}) => {
    let inProgress = 0;
    let most = 0;
    let gate = Promise.withResolvers<void>();
    const one = () =>
      pace.run(async () => {
        const startedAt = now;
        most = Math.max(most, ++inProgress);
        await gate.promise;
        pace.learn(startedAt, failure);
        inProgress--;
      });
    const all = Promise.all(Array.from({ length: count }, one)).then(() => true);
    const turn = () => new Promise<false>(resolve => setImmediate(() => resolve(false)));
    while (!(await Promise.race([all, turn()]))) {
      advance(ms);
      const open = gate;
      gate = Promise.withResolvers();
      open.resolve();
      await turn();
    }
    return most;
  };
  const grow = async (limit: number) => {
    while (pace.limit < limit) await calls(pace.limit);
  };
  return { pace, calls, advance, grow };
}

const limitsOf = async (count: number, pace: Pace, round: () => Promise<unknown>) => {
  const limits: number[] = [];
  for (let n = 0; n < count; n++) {
    await round();
    limits.push(pace.limit);
  }
  return limits;
};

describe("the calls of jobs to a peer", () => {
  test("are 8 at once at first", async () => {
    const { pace, calls } = paced();
    expect(await calls(7)).toBe(7);
    expect(pace.limit).toBe(8);
    expect(await paced().calls(8)).toBe(8);
  });

  test("become one more at once each time that as many were answered, up to the highest number", async () => {
    const { pace, calls } = paced(11);
    expect(await limitsOf(5, pace, () => calls(pace.limit))).toEqual([9, 10, 11, 11, 11]);
    expect(await calls(30)).toBe(11);
  });

  test("become more again after failures without a call, which take no time", async () => {
    const { pace, calls } = paced();
    await calls(pace.limit, { ms: 0, failure: failed("unauthorized") });
    const before = pace.limit;
    for (let n = 0; n < 60; n++) await calls(pace.limit);
    expect(pace.limit).toBeGreaterThan(before);
  });

  test("do not become more while less than half of the limit is in use", async () => {
    const { pace, calls } = paced();
    for (let n = 0; n < 20; n++) await calls(3);
    expect(pace.limit).toBe(8);
  });

  test("do not become more while they take more than twice as long as the fastest", async () => {
    const { pace, calls } = paced();
    await calls(8, { ms: 200 });
    expect(await limitsOf(3, pace, () => calls(pace.limit, { ms: 450 }))).toEqual([9, 9, 9]);
    expect(await limitsOf(1, pace, () => calls(pace.limit, { ms: 300 }))).toEqual([10]);
  });

  test("become more although they take some milliseconds longer than a fast one", async () => {
    const { pace, calls } = paced();
    await calls(8, { ms: 5 });
    await calls(9, { ms: 50 });
    expect(pace.limit).toBe(10);
  });

  test.each([
    ["throttles", throttled],
    ["throttles by 503 with Retry-After", failed("throttled", 503)],
    ["answers 503", failed("unanswered", 503)],
    ["does not answer", failed("unanswered")],
  ])("become half as many when the peer %s, and not fewer than 4", async (_, failure) => {
    const { pace, calls, grow } = paced();
    await grow(20);
    expect(await limitsOf(4, pace, () => calls(1, { failure }))).toEqual([10, 5, 4, 4]);
  });

  test("become half as many once for all calls that were made together", async () => {
    const { pace, calls, grow } = paced();
    await grow(20);
    await calls(20, { failure: throttled });
    expect(pace.limit).toBe(10);
  });

  test("do not reach the number at which the peer was overloaded for ten minutes, then try it again", async () => {
    const { pace, calls, grow, advance } = paced();
    await grow(12);
    await calls(1, { failure: throttled });
    expect(await limitsOf(8, pace, () => calls(pace.limit))).toEqual([7, 8, 9, 10, 11, 11, 11, 11]);
    advance(minutes(10));
    expect(await limitsOf(2, pace, () => calls(pace.limit))).toEqual([12, 13]);
  });

  test("become more when the peer refuses them, because it answers, and stay when it is not reached", async () => {
    const { pace, calls } = paced();
    await calls(8, { failure: failed("refused", 400) });
    expect(pace.limit).toBe(9);
    await calls(9, { failure: failed("unreachable") });
    expect(pace.limit).toBe(9);
  });

  test("are one at a time if the highest number is 1, also after an overload", async () => {
    const { pace, calls } = paced(1);
    await calls(1, { failure: throttled });
    expect(await calls(5)).toBe(1);
    expect(pace.limit).toBe(1);
  });

  test("have a limit for each peer", async () => {
    const paces = peerPaces(64, () => instant(0));
    expect(paces.of("IdP one")).toBe(paces.of("IdP one"));
    expect(paces.of("IdP one")).not.toBe(paces.of("IdP two"));
  });
});
