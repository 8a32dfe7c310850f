import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  lockAt,
  noFailures,
  recordFailure,
  recordRefusal,
  recordSuccess,
  reserve,
  type Throttle,
  type ThrottleLimits,
  throttleExpiry,
  withdrawReservation,
} from "../../../../lib/auth/sign-in/throttle.ts";
import { days, hours, type Instant, minutes, plus, seconds } from "../../../../lib/platform/time.ts";
import { forAll } from "../../../support/for-all.ts";

const limits: ThrottleLimits = {
  failures: 10,
  firstWaitMs: seconds(30),
  maxWaitMs: hours(1),
  reservationMs: seconds(30),
  keepMs: days(1),
};
const start: Instant = "2031-01-01T00:00:00.000Z";
const at = (ms: number) => plus(start, ms);

/** The throttle with one more place taken; fails where there is none. */
function reserved(throttle: Throttle, id: string, now = start): Throttle {
  const attempt = reserve(throttle, id, now, limits);
  if (attempt.outcome !== "reserved") throw new Error(`the attempt is ${attempt.outcome}`);
  return attempt.next;
}
/** After that many failures, one after another, all at the start. */
const failedTimes = (failures: number): Throttle => ({
  ...noFailures,
  ...(failures > 0 && { failures, failedAt: start }),
});
const outcome = (throttle: Throttle, now = start) => reserve(throttle, "new", now, limits).outcome;

describe("failures of a username", () => {
  it("up to nine in a row leave the next attempt free", () => {
    let throttle = noFailures;
    for (let n = 1; n <= 9; n += 1) throttle = recordFailure(reserved(throttle, `a${n}`), `a${n}`, start, limits);
    expect(throttle).toEqual({ failures: 9, failedAt: start, reservations: [] });
    expect(outcome(throttle)).toBe("reserved");
  });

  it.each([
    [10, 30],
    [11, 60],
    [12, 120],
    [13, 240],
    [14, 480],
    [15, 960],
    [16, 1920],
    [17, 3600],
    [18, 3600],
    [1000, 3600],
  ])("%i in a row make the next wait %i s, to the millisecond", (failures, wait) => {
    const throttle = failedTimes(failures);
    expect(reserve(throttle, "new", start, limits)).toEqual({ outcome: "waiting", retryAfterSeconds: wait });
    expect(reserve(throttle, "new", at(seconds(wait) - 1), limits)).toEqual({
      outcome: "waiting",
      retryAfterSeconds: 1,
    });
    expect(outcome(throttle, at(seconds(wait)))).toBe("reserved");
  });

  it("after a wait there is one place, and a failure in it makes the next wait longer", () => {
    const later = at(seconds(30));
    const throttle = reserved(failedTimes(10), "a", later);
    expect(outcome(throttle, later)).toBe("busy");
    expect(reserve(recordFailure(throttle, "a", later, limits), "b", later, limits)).toEqual({
      outcome: "waiting",
      retryAfterSeconds: 60,
    });
  });

  it("lets an attempt reserve the only slot again whose reservation was written, but its response lost", () => {
    const later = at(seconds(30));
    const written = reserved(failedTimes(10), "a", later);
    const again = reserved(written, "a", at(seconds(31)));
    expect(again.reservations).toEqual([{ id: "a", at: at(seconds(31)) }]);
    expect(outcome(again, later)).toBe("busy");
  });

  it("are forgotten a day after the last", () => {
    expect(reserved(failedTimes(17), "a", at(days(1)))).toMatchObject({ failures: 0 });
    expect(reserved(failedTimes(17), "a", at(days(1) - 1))).toMatchObject({ failures: 17 });
  });
});

describe("a reservation", () => {
  it("is given back with all failures by a success", () => {
    expect(recordSuccess(reserved(failedTimes(9), "a"), "a", start, limits)).toEqual(noFailures);
  });

  it("becomes a failure by a wrong answer, once", () => {
    const once = recordFailure(reserved(noFailures, "a"), "a", start, limits);
    expect(once).toMatchObject({ failures: 1, reservations: [] });
    expect(recordFailure(once, "a", start, limits)).toEqual(once);
  });

  it("counts as a failure when it is older than 30 s, and not again when its answer comes", () => {
    const throttle = reserved(noFailures, "a");
    expect(reserved(throttle, "b", at(seconds(30)))).toMatchObject({ failures: 0 });
    const late = at(seconds(30) + 1);
    expect(reserved(throttle, "b", late)).toMatchObject({ failures: 1, failedAt: at(seconds(30)) });
    expect(recordFailure(throttle, "a", late, limits)).toMatchObject({ failures: 1, reservations: [] });
  });

  it("that crashed does not count after a later success", () => {
    const late = at(minutes(1));
    const throttle = reserved(reserved(noFailures, "crashed"), "slow");
    expect(recordSuccess(throttle, "slow", late, limits)).toEqual(noFailures);
  });

  it("of another attempt outlives a success", () => {
    const throttle = recordSuccess(reserved(reserved(failedTimes(5), "a"), "b"), "a", start, limits);
    expect(throttle).toMatchObject({ failures: 0, reservations: [{ id: "b" }] });
    expect(recordFailure(throttle, "b", start, limits)).toMatchObject({ failures: 1 });
  });

  it("goes without a trace where the attempt came to no answer", () => {
    expect(withdrawReservation(reserved(failedTimes(9), "a"), "a")).toEqual(failedTimes(9));
  });

  it("makes a further attempt wait for a place where reservations and failures fill all ten", () => {
    let throttle = failedTimes(4);
    for (let n = 1; n <= 6; n += 1) throttle = reserved(throttle, `a${n}`);
    expect(outcome(throttle)).toBe("busy");
    expect(outcome(withdrawReservation(throttle, "a3"))).toBe("reserved");
    expect(outcome(recordFailure(throttle, "a3", start, limits))).toBe("busy");
  });
});

describe("a throttle's end", () => {
  it("is a day after the last failure, or after a reservation would be one", () => {
    expect(throttleExpiry(noFailures, limits)).toBeUndefined();
    expect(throttleExpiry(failedTimes(3), limits)).toBe(at(days(1)));
    expect(throttleExpiry(reserved(failedTimes(3), "a", at(hours(2))), limits)).toBe(at(hours(26) + seconds(30)));
  });

  it("is a day after the last refusal too, which is shown until then, also after attempts that succeed", () => {
    const lastRefusal = { at: start, reason: "wrong_otp", otpOutcome: "replayed", prefix: "vvccccbcdeft" };
    const refused = recordRefusal(noFailures, lastRefusal);
    expect(throttleExpiry(refused, limits)).toBe(at(days(1)));
    const later = recordSuccess(reserved(refused, "a", at(hours(23))), "a", at(hours(23)), limits);
    expect(throttleExpiry(later, limits)).toBe(at(days(1)));
    expect(lockAt(later, at(days(1) - 1), limits).lastRefusal).toEqual(lastRefusal);
    expect(lockAt(later, at(days(1)), limits)).toEqual({ failures: 0, runningAttempts: 0 });
  });
});

describe("a host whose clock is five minutes ahead", () => {
  const ahead = minutes(5);

  it("lengthens a wait on other hosts by five minutes", () => {
    const throttle = recordFailure(reserved(failedTimes(9), "a", at(ahead)), "a", at(ahead), limits);
    expect(reserve(throttle, "b", start, limits)).toEqual({ outcome: "waiting", retryAfterSeconds: 330 });
  });

  it("occupies a slot for five minutes longer where it crashes", () => {
    const throttle = reserved(failedTimes(9), "a", at(ahead));
    expect(outcome(throttle, at(ahead + seconds(30)))).toBe("busy");
    expect(outcome(throttle, at(ahead + seconds(30) + 1))).toBe("waiting");
  });

  it("takes an attempt that another host has begun for a failure, which its success clears and its failure does not repeat", () => {
    const throttle = recordFailure(
      reserved(reserved(noFailures, "a"), "b", at(ahead)),
      "b",
      at(ahead + seconds(1)),
      limits,
    );
    expect(throttle.failures).toBe(2);
    expect(recordFailure(throttle, "a", at(seconds(1)), limits).failures).toBe(2);
    expect(recordSuccess(throttle, "a", at(seconds(1)), limits)).toEqual(noFailures);
  });
});

describe("attempts in any order and at any time", () => {
  interface Step {
    readonly kind: "reserve" | "fail" | "succeed" | "crash";
    readonly which: number;
    readonly pass: number;
  }
  const step: fc.Arbitrary<Step> = fc.record({
    kind: fc.constantFrom("reserve", "reserve", "reserve", "fail", "succeed", "crash"),
    which: fc.nat(12),
    pass: fc.constantFrom(0, 0, 0, 500, seconds(10), seconds(31), minutes(3)),
  });

  it("run at most ten at once and never more than are left to the limit", () => {
    forAll(fc.array(step, { maxLength: 80 }), steps => {
      let [throttle, now, next] = [noFailures, start, 0];
      const open: string[] = [];
      for (const { kind, which, pass } of steps) {
        now = plus(now, pass);
        const [id] = kind === "reserve" ? [] : open.splice(which % Math.max(1, open.length), 1);
        if (kind === "fail" && id !== undefined) throttle = recordFailure(throttle, id, now, limits);
        if (kind === "succeed" && id !== undefined) throttle = recordSuccess(throttle, id, now, limits);
        if (kind !== "reserve") continue;
        const attempt = reserve(throttle, `a${next}`, now, limits);
        if (attempt.outcome !== "reserved") continue;
        throttle = attempt.next;
        open.push(`a${next}`);
        next += 1;
        expect(throttle.reservations.length).toBeLessThanOrEqual(Math.max(1, 10 - throttle.failures));
      }
    });
  });

  it("however many guess in parallel, no more guesses are made than one after another would be", () => {
    const delays = fc.array(fc.constantFrom(0, 0, 0, 0, 1000, seconds(20), seconds(40)), {
      minLength: 100,
      maxLength: 100,
    });
    forAll(
      delays,
      list => {
        let [throttle, now, guesses] = [noFailures, start, 0];
        const open: string[] = [];
        for (const [n, pass] of list.entries()) {
          now = plus(now, pass);
          const attempt = reserve(throttle, `a${n}`, now, limits);
          if (attempt.outcome === "reserved") {
            throttle = attempt.next;
            open.push(`a${n}`);
            guesses += 1;
          }
          const done = n % 3 === 0 ? open.shift() : undefined;
          if (done !== undefined) throttle = recordFailure(throttle, done, now, limits);
        }
        expect(guesses).toBeLessThanOrEqual(10 + guessesAfterWaits(Date.parse(now) - Date.parse(start)));
      },
      { numRuns: 60 },
    );
  });

  /** Guesses that waits of 30 s, doubling to 1 h, leave in that time after the tenth failure. */
  function guessesAfterWaits(ms: number): number {
    let [count, passed] = [0, 0];
    for (let wait = seconds(30); passed + wait <= ms; wait = Math.min(hours(1), wait * 2)) {
      passed += wait;
      count += 1;
    }
    return count;
  }
});
