import { execFileSync, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type {
  Decision,
  KeyParameters,
  KeyState,
  LocalKind,
  OtpWindows,
} from "../../../../../lib/auth/otpkeys/kinds/contract.ts";
import { draftProblems } from "../../../../../lib/auth/otpkeys/kinds/draft-problems.ts";
import { hotp, totp } from "../../../../../lib/auth/otpkeys/kinds/oath.ts";
import { instant } from "../../../../../lib/platform/time.ts";
import { forAll } from "../../../../support/for-all.ts";
import { whereInstalled } from "../../../../support/where-installed.ts";
import { hotpCode as code } from "./codes.ts";

const windows: OtpWindows = { lookAhead: 15, resync: 100, steps: 1 };
const rfcSecret = Buffer.from("12345678901234567890");

const at = (step: number) => instant(step * 30_000);
const decide = (kind: LocalKind, secret: Uint8Array, state: KeyState, text: string, step = 0): Decision =>
  kind.decide({ secret: { secret }, parameters: { digits: text.length, state } }, text, { now: at(step), windows });
const stateAfter = (decision: Decision, state: KeyState): KeyState =>
  "nextState" in decision ? decision.nextState : state;

/** A secret whose codes differ from each other over the first counters, so that no test meets a coincidence. */
function plainSecret(): Uint8Array {
  for (;;) {
    const secret = randomBytes(20);
    const codes = Array.from({ length: 250 }, (_, counter) => code(secret, counter, 8));
    if (new Set(codes.map(text => text.slice(2))).size === codes.length) return secret;
  }
}

describe("hotp by RFC 4226 appendix D", () => {
  const values = "755224 287082 359152 969429 338314 254676 287922 162583 399871 520489".split(" ");

  it("takes each value at its counter, in order, and once", () => {
    let state: KeyState = { counter: 0 };
    for (const [counter, value] of values.entries()) {
      const decision = decide(hotp, rfcSecret, state, value);
      expect(decision).toEqual({ outcome: "valid", nextState: { counter: counter + 1 } });
      state = stateAfter(decision, state);
      expect(decide(hotp, rfcSecret, state, value)).toEqual({ outcome: "replayed" });
    }
  });
});

describe("totp by RFC 6238 appendix B", () => {
  const sha1: readonly (readonly [seconds: number, value: string])[] = [
    [59, "94287082"],
    [1111111109, "07081804"],
    [1111111111, "14050471"],
    [1234567890, "89005924"],
    [2000000000, "69279037"],
    [20000000000, "65353130"],
  ];

  const seconds = sha1.map(([second]) => second);
  it.each([
    ["SHA1", 20, sha1.map(([, value]) => value)],
    ["SHA256", 32, ["46119246", "68084774", "67062674", "91819424", "90698825", "77737706"]],
    ["SHA512", 64, ["90693936", "25091201", "99943326", "93441116", "38618901", "47863826"]],
  ] as const)("accepts each value of %s once, also as a code of its last 7 or 6 digits", (algorithm, bytes, values) => {
    const secret = Buffer.from("1234567890".repeat(7).slice(0, bytes));
    for (const [index, value] of values.entries()) {
      const now = instant((seconds[index] ?? 0) * 1000);
      for (const digits of [8, 7, 6]) {
        const parameters: KeyParameters = { digits, period: 30, algorithm, state: { counter: 0 } };
        const decide = (state: KeyState, text = value.slice(-digits)) =>
          totp.decide({ secret: { secret }, parameters: { ...parameters, state } }, text, { now, windows });
        const decision = decide(parameters.state);
        expect(decision.outcome).toBe("valid");
        expect(decide(stateAfter(decision, parameters.state))).toEqual({ outcome: "replayed" });
      }
    }
  });
});

describe("the window of hotp", () => {
  const secret = plainSecret();
  const from = (counter: number, resync?: number): KeyState =>
    resync === undefined ? { counter } : { counter, resync };

  it.each([
    ...[0, 1, 14, 15].map(ahead => [ahead, { outcome: "valid", nextState: { counter: 21 + ahead } }] as const),
    ...[16, 17, 99, 100].map(
      ahead => [ahead, { outcome: "out_of_step", nextState: { counter: 20, resync: 21 + ahead } }] as const,
    ),
    ...[101, 102, 150, -2, -19, -20].map(ahead => [ahead, { outcome: "invalid" }] as const),
    [-1, { outcome: "replayed" }] as const,
  ])("decides on a code %i ahead of the next expected one: %j", (ahead, decision) => {
    expect(decide(hotp, secret, from(20), code(secret, 20 + ahead))).toEqual(decision);
  });

  it.each([16, 100])("the very next code after one %i ahead succeeds and uses up both", ahead => {
    const remembered = stateAfter(decide(hotp, secret, from(20), code(secret, 20 + ahead)), from(20));
    const decision = decide(hotp, secret, remembered, code(secret, 21 + ahead));
    expect(decision).toEqual({ outcome: "valid", nextState: { counter: 22 + ahead } });
    const after = stateAfter(decision, remembered);
    for (const used of [20 + ahead, 21 + ahead]) {
      expect(decide(hotp, secret, after, code(secret, used)).outcome).not.toBe("valid");
    }
  });

  it("no other code ends a resynchronisation: not the same, not the one before, not the one after the next", () => {
    const remembered = from(20, 61);
    for (const counter of [60, 59, 62]) {
      expect(decide(hotp, secret, remembered, code(secret, counter)).outcome).toBe("out_of_step");
    }
    expect(decide(hotp, secret, remembered, "00000000").outcome).toBe("invalid");
  });

  it("a wrong guess in between does not forget what was remembered", () => {
    const remembered = from(20, 61);
    expect("nextState" in decide(hotp, secret, remembered, "00000000")).toBe(false);
    expect(decide(hotp, secret, remembered, code(secret, 61))).toMatchObject({ outcome: "valid" });
  });

  it("an expected code ends a resynchronisation that was started", () => {
    expect(decide(hotp, secret, from(20, 61), code(secret, 25))).toEqual({
      outcome: "valid",
      nextState: { counter: 26 },
    });
  });
});

describe("the window of totp", () => {
  const secret = plainSecret();

  it.each([
    [-11, "invalid"],
    [-10, "out_of_step"],
    [-2, "out_of_step"],
    [-1, "valid"],
    [0, "valid"],
    [1, "valid"],
    [2, "out_of_step"],
    [10, "out_of_step"],
    [11, "invalid"],
  ] as const)("a code of %i steps from now: %s", (offset, outcome) => {
    expect(decide(totp, secret, { counter: 0 }, code(secret, 100 + offset), 100).outcome).toBe(outcome);
  });

  it("steps used only grow: after a code none of an earlier step passes", () => {
    const decision = decide(totp, secret, { counter: 0 }, code(secret, 100), 100);
    expect(decision).toEqual({ outcome: "valid", nextState: { counter: 101 } });
    const state = stateAfter(decision, { counter: 0 });
    expect(decide(totp, secret, state, code(secret, 99), 100)).toEqual({ outcome: "replayed" });
    expect(decide(totp, secret, state, code(secret, 100), 101)).toEqual({ outcome: "replayed" });
    expect(decide(totp, secret, state, code(secret, 101), 101)).toMatchObject({ outcome: "valid" });
  });

  it("a step begins on the very millisecond", () => {
    const key = { secret: { secret }, parameters: { digits: 6, state: { counter: 0 } } };
    const narrow = { ...windows, steps: 0 };
    const late = (ms: number) => totp.decide(key, code(secret, 100), { now: instant(ms), windows: narrow }).outcome;
    expect([late(2_999_999), late(3_000_000), late(3_029_999), late(3_030_000)]).toEqual([
      "out_of_step",
      "valid",
      "valid",
      "out_of_step",
    ]);
  });

  it("a host whose clock is ten steps ahead refuses the codes of the time, and its uses keep no later code out", () => {
    expect(decide(totp, secret, { counter: 0 }, code(secret, 100), 110).outcome).toBe("out_of_step");
    const decision = decide(totp, secret, { counter: 0 }, code(secret, 111), 110);
    const state = decision.outcome === "valid" ? decision.nextState : { counter: 0 };
    expect(decide(totp, secret, state, code(secret, 111), 111)).toEqual({ outcome: "replayed" });
    expect(decide(totp, secret, state, code(secret, 112), 112)).toMatchObject({ outcome: "valid" });
  });

  it("a clock that went back takes nothing and breaks nothing", () => {
    expect(decide(totp, secret, { counter: 101 }, code(secret, 50), 50)).toEqual({ outcome: "replayed" });
    expect(decide(totp, secret, { counter: 101 }, code(secret, 39), 50)).toEqual({ outcome: "invalid" });
    expect(decide(totp, secret, { counter: 101 }, code(secret, 70), 50)).toEqual({ outcome: "invalid" });
    expect(decide(totp, secret, { counter: 0 }, code(secret, 0), 0)).toMatchObject({ outcome: "valid" });
  });
});

describe("the resynchronisation of totp", () => {
  const secret = plainSecret();
  const codeAt = (step: number) => code(secret, step);
  const resync = (offset: number, from: KeyState = { counter: 0 }, step = 100): KeyState => {
    const first = decide(totp, secret, from, codeAt(step + offset), step);
    expect(first.outcome).toBe("out_of_step");
    const second = decide(totp, secret, stateAfter(first, from), codeAt(step + offset + 1), step + 1);
    expect(second.outcome).toBe("valid");
    return stateAfter(second, from);
  };

  it.each([-10, -3, 3, 9])("records the drift of a clock %i steps off after two codes in a row", offset => {
    const state = resync(offset);
    expect(state).toEqual({ counter: 102 + offset, drift: offset });
    for (const [late, outcome] of [
      [-2, "out_of_step"],
      [-1, "valid"],
      [0, "valid"],
      [1, "valid"],
      [2, "out_of_step"],
    ] as const) {
      expect(decide(totp, secret, state, codeAt(150 + offset + late), 150).outcome).toBe(outcome);
    }
  });

  it("uses up both codes and every earlier one", () => {
    const state = resync(3);
    for (const used of [104, 103, 102]) {
      expect(decide(totp, secret, state, codeAt(used), 101)).toEqual({ outcome: "replayed" });
    }
  });

  it("keeps the drift when later codes are accepted", () => {
    const state = resync(4);
    const decision = decide(totp, secret, state, codeAt(154), 150);
    expect(decision).toEqual({ outcome: "valid", nextState: { counter: 155, drift: 4 } });
  });

  it("follows a clock that drifts on, and one that is set right again", () => {
    const further = resync(13, resync(5), 150);
    expect(further).toEqual({ counter: 165, drift: 13 });
    expect(resync(4, further, 200)).toEqual({ counter: 206, drift: 4 });
  });

  it("is completed by the very next code only, while that code is within ten steps", () => {
    const begun = stateAfter(decide(totp, secret, { counter: 0 }, codeAt(105), 100), { counter: 0 });
    expect(begun).toEqual({ counter: 0, resync: 106 });
    for (const other of [104, 105, 107]) {
      expect(decide(totp, secret, begun, codeAt(other), 100).outcome).toBe("out_of_step");
    }
    expect(decide(totp, secret, begun, codeAt(106), 116)).toMatchObject({
      outcome: "valid",
      nextState: { drift: -10 },
    });
    expect(decide(totp, secret, begun, codeAt(106), 117)).toEqual({ outcome: "invalid" });
    expect(decide(totp, secret, begun, codeAt(106), 95)).toEqual({ outcome: "invalid" });
  });

  it("does not begin with a code that may be used up", () => {
    expect(decide(totp, secret, { counter: 104 }, codeAt(103), 100)).toEqual({ outcome: "replayed" });
    expect(decide(totp, secret, { counter: 104 }, codeAt(97), 100)).toEqual({ outcome: "replayed" });
  });

  it("ends when a code of the window is accepted", () => {
    expect(decide(totp, secret, { counter: 0, resync: 106 }, codeAt(101), 100)).toEqual({
      outcome: "valid",
      nextState: { counter: 102 },
    });
  });
});

describe("totp with a step of 60 seconds", () => {
  const secret = plainSecret();
  const parameters = (counter: number): KeyParameters => ({
    digits: 6,
    period: 60,
    algorithm: "SHA256",
    state: { counter },
  });
  const decideAt = (second: number, factor: number, counter = 0) =>
    totp.decide({ secret: { secret }, parameters: parameters(counter) }, code(secret, factor, 6, "sha256"), {
      now: instant(second * 1000),
      windows,
    });

  it("counts its window in steps of 60 seconds", () => {
    const now = 6030;
    expect([-2, -1, 0, 1, 2].map(offset => decideAt(now, 100 + offset).outcome)).toEqual([
      "out_of_step",
      "valid",
      "valid",
      "valid",
      "out_of_step",
    ]);
  });

  it("accepts a code once in the whole step, and none of an earlier step after it", () => {
    expect(decideAt(6000, 100)).toEqual({ outcome: "valid", nextState: { counter: 101 } });
    for (const second of [6000, 6029, 6030, 6059, 6060]) {
      expect(decideAt(second, 100, 101)).toEqual({ outcome: "replayed" });
      expect(decideAt(second, 99, 101).outcome).not.toBe("valid");
    }
    expect(decideAt(6060, 101, 101)).toEqual({ outcome: "valid", nextState: { counter: 102 } });
  });

  it("refuses after a restore every code of a time up to the restore, also after an unrecorded resynchronisation", () => {
    const at = { now: instant(6000 * 1000), windows };
    expect(totp.advancePastUses(parameters(7), 10, at)).toEqual({ counter: 111 });
    const drifted = { ...parameters(7), state: { counter: 7, resync: 9, drift: -5 } };
    expect(totp.advancePastUses(drifted, 10, at)).toEqual({ counter: 106, drift: -5 });
  });
});

describe("codes of either kind, in any order", () => {
  // A short secret, and codes from one narrow range: coincidences are met, not avoided.
  const secret = randomBytes(14);
  const attempts = fc.array(
    fc.record({ counter: fc.integer({ min: 0, max: 130 }), step: fc.integer({ min: 0, max: 60 }) }),
    { maxLength: 20 },
  );

  it.each([
    ["hotp", hotp],
    ["totp", totp],
  ] as const)("%s: no counter goes down, and no code passes twice running", (_, kind) => {
    forAll(
      attempts,
      list => {
        let state: KeyState = { counter: 0 };
        for (const { counter, step } of list) {
          const text = code(secret, counter);
          const decision = decide(kind, secret, state, text, step);
          const next = stateAfter(decision, state);
          expect(next.counter).toBeGreaterThanOrEqual(state.counter);
          if (decision.outcome === "valid") {
            expect(next.counter).toBeGreaterThan(state.counter);
            expect(decide(kind, secret, next, text, step).outcome).not.toBe("valid");
          }
          state = next;
        }
      },
      { numRuns: 60 },
    );
  });

  it("a code that equals the next one as well passes once only", () => {
    // Found by search: with this secret, event 910737 has the same six digits as the one after it.
    const counter = 910_737;
    const text = code(rfcSecret, counter);
    expect([text, code(rfcSecret, counter + 1)]).toEqual(["911617", "911617"]);
    for (const kind of [hotp, totp]) {
      const decision = decide(kind, rfcSecret, { counter }, text, counter);
      expect(decision).toEqual({ outcome: "valid", nextState: { counter: counter + 1 } });
      expect(decide(kind, rfcSecret, { counter: counter + 1 }, text, counter)).toEqual({ outcome: "replayed" });
    }
  });
});

describe("an OATH key of an import", () => {
  it("has 6 digits and starts at 0 where nothing is said", () => {
    expect(hotp.prepare({ secret: rfcSecret })).toEqual({
      secret: { secret: rfcSecret },
      parameters: { digits: 6, state: { counter: 0 } },
    });
    expect(totp.prepare({ secret: rfcSecret, digits: 8, counter: 7 })).toMatchObject({
      parameters: { digits: 8, period: 30, algorithm: "SHA1", state: { counter: 7 } },
    });
    const timing = { period: 60, algorithm: "SHA512" } as const;
    expect(totp.prepare({ secret: rfcSecret, digits: 7, ...timing })).toMatchObject({
      parameters: { digits: 7, ...timing },
    });
  });

  it.each([14, 64])("may have a secret of %i bytes, which then works", bytes => {
    const secret = randomBytes(bytes);
    expect(draftProblems({ secret }, hotp.rules)).toEqual([]);
    expect(decide(hotp, secret, { counter: 0 }, code(secret, 0))).toMatchObject({ outcome: "valid" });
  });

  it("works up to the largest counter that an import may give", () => {
    const counter = 2 ** 52;
    expect(decide(hotp, rfcSecret, { counter }, code(rfcSecret, counter))).toEqual({
      outcome: "valid",
      nextState: { counter: counter + 1 },
    });
  });
});

const oathtool = spawnSync("oathtool", ["--version"]).status === 0;

describe.skipIf(!oathtool)(whereInstalled("compared with oathtool", "oathtool", oathtool), () => {
  it("the codes of a random secret are the same", () => {
    const secret = randomBytes(20);
    const hex = secret.toString("hex");
    const theirs = execFileSync("oathtool", ["--hotp", "--digits=8", "--counter=0", "--window=9", hex], {
      encoding: "utf8",
    });
    let state: KeyState = { counter: 0 };
    for (const text of theirs.trim().split("\n")) {
      const decision = decide(hotp, secret, state, text);
      expect(decision.outcome).toBe("valid");
      state = stateAfter(decision, state);
    }
    const now = execFileSync("oathtool", ["--totp", "--now=2031-05-06 07:08:09 UTC", hex], { encoding: "utf8" });
    const moment = { now: "2031-05-06T07:08:09.000Z", windows: { ...windows, steps: 0 } };
    const key = { secret: { secret }, parameters: { digits: 6, state: { counter: 0 } } };
    expect(totp.decide(key, now.trim(), moment)).toMatchObject({ outcome: "valid" });
  });
});
