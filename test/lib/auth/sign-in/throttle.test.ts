import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type AttemptEnd,
  endAttempt,
  lockAt,
  noFailures,
  reserve,
  type Throttle,
  type ThrottleLimits,
  throttleExpiry,
} from "../../../../lib/auth/sign-in/throttle.ts";
import type { Fault } from "../../../../lib/platform/fault.ts";
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

/** The throttle with one more slot taken; fails where there is none. */
function reserved(throttle: Throttle, id: string, now = start): Throttle {
  const next = reserve(throttle, id, now, limits);
  if (next === undefined) throw new Error("there is no slot");
  return next;
}
const ended =
  (counts: AttemptEnd["counts"]) =>
  (throttle: Throttle, id: string, now = start) =>
    endAttempt(throttle, id, { counts }, now, limits);
const [failed, succeeded, withdrawn] = [ended("failure"), ended("success"), ended("nothing")];
/** After that many failures, one after another, all at the start. */
const failedTimes = (failures: number): Throttle => ({
  ...noFailures,
  ...(failures > 0 && { failures, failedAt: start }),
});
/** Seconds that a new attempt must wait; `busy` or `reserved` if it need not. */
function outcome(throttle: Throttle, now = start): unknown {
  try {
    return reserve(throttle, "new", now, limits) === undefined ? "busy" : "reserved";
  } catch (error) {
    return (error as Fault).retryAfterSeconds;
  }
}

describe("failures of a username", () => {
  it("up to nine in a row leave the next attempt free", () => {
    let throttle = noFailures;
    for (let n = 1; n <= 9; n += 1) throttle = failed(reserved(throttle, `a${n}`), `a${n}`);
    expect(throttle).toEqual({ failures: 9, failedAt: start, reservations: [] });
    expect(outcome(throttle)).toBe("reserved");
  });

  it.each([
    [10, 30],
    [11, 60],
    [16, 1920],
    [17, 3600],
    [1000, 3600],
  ])("%i in a row make the next wait %i s, to the millisecond", (failures, wait) => {
    const throttle = failedTimes(failures);
    expect(outcome(throttle)).toBe(wait);
    expect(outcome(throttle, at(seconds(wait) - 1))).toBe(1);
    expect(outcome(throttle, at(seconds(wait)))).toBe("reserved");
  });

  it("after a wait there is one slot, and a failure in it makes the next wait longer", () => {
    const later = at(seconds(30));
    const throttle = reserved(failedTimes(10), "a", later);
    expect(outcome(throttle, later)).toBe("busy");
    expect(outcome(failed(throttle, "a", later), later)).toBe(60);
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
    expect(succeeded(reserved(failedTimes(9), "a"), "a")).toEqual(noFailures);
  });

  it("becomes a failure by a wrong answer, once", () => {
    const once = failed(reserved(noFailures, "a"), "a");
    expect(once).toMatchObject({ failures: 1, reservations: [] });
    expect(failed(once, "a")).toEqual(once);
  });

  it("counts as a failure when it is older than 30 s, and not again when its answer comes", () => {
    const throttle = reserved(noFailures, "a");
    expect(reserved(throttle, "b", at(seconds(30)))).toMatchObject({ failures: 0 });
    const late = at(seconds(30) + 1);
    expect(reserved(throttle, "b", late)).toMatchObject({ failures: 1, failedAt: at(seconds(30)) });
    expect(failed(throttle, "a", late)).toMatchObject({ failures: 1, reservations: [] });
  });

  it("that crashed does not count after a later success", () => {
    const late = at(minutes(1));
    const throttle = reserved(reserved(noFailures, "crashed"), "slow");
    expect(succeeded(throttle, "slow", late)).toEqual(noFailures);
  });

  it("of another attempt outlives a success", () => {
    const throttle = succeeded(reserved(reserved(failedTimes(5), "a"), "b"), "a");
    expect(throttle).toMatchObject({ failures: 0, reservations: [{ id: "b" }] });
    expect(failed(throttle, "b")).toMatchObject({ failures: 1 });
  });

  it("goes without a trace where the attempt came to no answer", () => {
    expect(withdrawn(reserved(failedTimes(9), "a"), "a")).toEqual(failedTimes(9));
  });

  it("makes a further attempt wait for a slot where reservations and failures fill all ten", () => {
    let throttle = failedTimes(4);
    for (let n = 1; n <= 6; n += 1) throttle = reserved(throttle, `a${n}`);
    expect(outcome(throttle)).toBe("busy");
    expect(outcome(withdrawn(throttle, "a3"))).toBe("reserved");
    expect(outcome(failed(throttle, "a3"))).toBe("busy");
  });
});

describe("a throttle's end", () => {
  it("is a day after the last failure, or after a reservation would be one", () => {
    expect(throttleExpiry(noFailures, limits)).toBeUndefined();
    expect(throttleExpiry(failedTimes(3), limits)).toBe(at(days(1)));
    expect(throttleExpiry(reserved(failedTimes(3), "a", at(hours(2))), limits)).toBe(at(hours(26) + seconds(30)));
  });

  it("is a day after the last refusal too, which is shown until then, also after attempts that succeed", () => {
    const refusal = { reason: "wrong_otp", otpOutcome: "replayed", prefix: "vvccccbcdeft" };
    const refused = endAttempt(noFailures, "a", { counts: "success", refusal }, start, limits);
    expect(throttleExpiry(refused, limits)).toBe(at(days(1)));
    const later = succeeded(reserved(refused, "a", at(hours(23))), "a", at(hours(23)));
    expect(throttleExpiry(later, limits)).toBe(at(days(1)));
    expect(lockAt(later, at(days(1) - 1), limits).lastRefusal).toEqual({ at: start, ...refusal });
    expect(lockAt(later, at(days(1)), limits)).toEqual({ failures: 0, runningAttempts: 0 });
  });
});

describe("a host whose clock is five minutes ahead", () => {
  const ahead = minutes(5);

  it("lengthens a wait on other hosts, and occupies a slot where it crashes, for five minutes", () => {
    expect(outcome(failed(reserved(failedTimes(9), "a", at(ahead)), "a", at(ahead)))).toBe(330);
    const crashed = reserved(failedTimes(9), "a", at(ahead));
    expect(outcome(crashed, at(ahead + seconds(30)))).toBe("busy");
    expect(outcome(crashed, at(ahead + seconds(30) + 1))).toBe(30);
  });

  it("takes an attempt that another host has begun for a failure, which its success clears and its failure does not repeat", () => {
    const throttle = failed(reserved(reserved(noFailures, "a"), "b", at(ahead)), "b", at(ahead + seconds(1)));
    expect(throttle.failures).toBe(2);
    expect(failed(throttle, "a", at(seconds(1))).failures).toBe(2);
    expect(succeeded(throttle, "a", at(seconds(1)))).toEqual(noFailures);
  });
});

describe("attempts in any order and at any time", () => {
  interface Step {
    readonly kind: "reserve" | "fail" | "succeed" | "crash";
    readonly which: number;
    readonly pass: number;
  }
  const reserveOrNot = (throttle: Throttle, id: string, now: Instant) =>
    outcome(throttle, now) === "reserved" ? reserve(throttle, id, now, limits) : undefined;
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
        if (kind === "fail" && id !== undefined) throttle = failed(throttle, id, now);
        if (kind === "succeed" && id !== undefined) throttle = succeeded(throttle, id, now);
        if (kind !== "reserve") continue;
        const taken = reserveOrNot(throttle, `a${next}`, now);
        if (taken === undefined) continue;
        throttle = taken;
        open.push(`a${next}`);
        next += 1;
        expect(throttle.reservations.length).toBeLessThanOrEqual(Math.max(1, 10 - throttle.failures));
      }
    });
  });

  it("however many guess in parallel, no more guesses are made than one after another would be", () => {
    const delay = fc.constantFrom(0, 0, 0, 0, 1000, seconds(20), seconds(40));
    const delays = fc.array(delay, { minLength: 100, maxLength: 100 });
    forAll(
      delays,
      list => {
        let [throttle, now, guesses] = [noFailures, start, 0];
        const open: string[] = [];
        for (const [n, pass] of list.entries()) {
          now = plus(now, pass);
          const taken = reserveOrNot(throttle, `a${n}`, now);
          if (taken !== undefined) {
            throttle = taken;
            open.push(`a${n}`);
            guesses += 1;
          }
          const done = n % 3 === 0 ? open.shift() : undefined;
          if (done !== undefined) throttle = failed(throttle, done, now);
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
