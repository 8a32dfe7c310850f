import { describe, expect, test } from "vitest";
import { peerLimits } from "../../../../lib/connector/peers/peer-limits.ts";
import { PeerFailure, type PeerFailureKind } from "../../../../lib/platform/peer-failure.ts";
import { instant, plus, seconds } from "../../../../lib/platform/time.ts";

const failed = (kind: PeerFailureKind, status?: number, retryAfterSeconds?: number) =>
  new PeerFailure("IdP", "registration", kind, { status, retryAfterSeconds });

describe("the calls of jobs to a peer", () => {
  test("are at most so many at once, and made in their order", async () => {
    const limit = peerLimits(3, () => instant(0)).of("IdP");
    const gate = Promise.withResolvers<void>();
    const begun: number[] = [];
    const calls = [0, 1, 2, 3, 4].map(n =>
      limit.run(async () => {
        begun.push(n);
        await gate.promise;
        return n;
      }),
    );
    await new Promise(resolve => setImmediate(resolve));
    expect(begun).toEqual([0, 1, 2]);
    gate.resolve();
    expect(await Promise.all(calls)).toEqual([0, 1, 2, 3, 4]);
    expect(begun).toEqual([0, 1, 2, 3, 4]);
  });

  test("have a limit for each peer", () => {
    const limits = peerLimits(8, () => instant(0));
    expect(limits.of("IdP one")).toBe(limits.of("IdP one"));
    expect(limits.of("IdP one")).not.toBe(limits.of("IdP two"));
  });

  test.each([
    ["its Retry-After", [failed("throttled", 429, 90)], seconds(90)],
    ["a minute without one", [failed("throttled", 429)], seconds(60)],
    ["ten minutes at most", [failed("throttled", 429, 86_400)], seconds(600)],
    ["the longest of several", [failed("throttled", 429, 90), failed("throttled", 429, 7)], seconds(90)],
  ])("are paused after 429: %s", (_, failures, ms) => {
    const limit = peerLimits(8, () => instant(0)).of("IdP");
    for (const failure of failures) limit.pauseAfter(failure);
    expect(limit.pausedUntil).toBe(plus(instant(0), ms));
  });

  test.each([undefined, failed("throttled", 503, 90), failed("unanswered"), failed("refused", 400)])(
    "are not paused after %s",
    failure => {
      const limit = peerLimits(8, () => instant(0)).of("IdP");
      limit.pauseAfter(failure);
      expect(limit.pausedUntil).toBeUndefined();
    },
  );
});
