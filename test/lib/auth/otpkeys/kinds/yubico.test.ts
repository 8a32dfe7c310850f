import { spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Decision, KeyState } from "../../../../../lib/auth/otpkeys/kinds/contract.ts";
import { modhexPattern, modhexToBytes, modhexToHex } from "../../../../../lib/auth/otpkeys/kinds/encodings.ts";
import { crc16, yubico } from "../../../../../lib/auth/otpkeys/kinds/yubico.ts";
import { forAll } from "../../../../support/for-all.ts";
import { whereInstalled } from "../../../../support/where-installed.ts";
import { encrypt, modhexOf, yubicoCode } from "./codes.ts";

const at = { now: "2031-01-01T00:00:00.000Z", windows: { lookAhead: 15, resync: 100, steps: 1 } };
const hex = (text: string) => new Uint8Array(Buffer.from(text, "hex"));
const decide = (secret: Uint8Array, privateId: Uint8Array, counter: number, code: string): Decision =>
  yubico.decide({ secret: { secret, privateId }, parameters: { state: { counter } } }, code, at);
const valid = (useCounter: number, sessionCounter: number): Decision => ({
  outcome: "valid",
  nextState: { counter: useCounter * 256 + sessionCounter + 1 },
});

describe("published vectors", () => {
  it.each([
    ["000102030405060708090a0b0c0d0e0f", "010203040506", 0x0001, 0x01, "dvgtiblfkbgturecfllberrvkinnctnn"],
    ["000102030405060708090a0b0c0d0e0f", "010203040506", 0x0001, 0x02, "rnibcnfhdninbrdebccrndfhjgnhftee"],
    ["000102030405060708090a0b0c0d0e0f", "010203040506", 0x0fff, 0x01, "iikkijbdknrrdhfdrjltvgrbkkjblcbh"],
    ["00000000000000000000000000000000", "000000000000", 0x0000, 0x00, "kkkncjnvcnenkjvjgncjihljiibgbhbh"],
    ["c4422890653076cde73d449b191b416a", "33c69e7f249e", 0x0001, 0x00, "iucvrkjiegbhidrcicvlgrcgkgurhjnj"],
    ["ecde18dbe76fbd0c33330f1c354871db", "8792ebfe26cc", 0x0013, 0x11, "hknhfjbrjnlnldnhcujvddbikngjrtgh"],
    ["c68c9df8cbfe7d2f994cb904046c7218", "609963eae7b5", 0x0001, 0x00, "tjduvtcjbfeuvhehdvjjlbchtlenfgku"],
  ])("key %s, private id %s, use %i, session %i", (secret, privateId, useCounter, sessionCounter, code) => {
    expect(decide(hex(secret), hex(privateId), 0, code)).toEqual(valid(useCounter, sessionCounter));
  });

  it("ignores the top bit of the use counter, which reports the caps lock", () => {
    const [secret, privateId] = [hex("88".repeat(16)), hex("88".repeat(6))];
    expect(decide(secret, privateId, 0, "dcihgvrhjeucvrinhdfddbjhfjftjdei")).toEqual(valid(0x0888, 0x88));
  });

  it.each([
    [[0, 1, 2, 3, 4], 62919],
    [[0xfe], 4470],
    [[0x55, 0xaa, 0x00, 0xff], 52149],
  ])("the checksum of %j is %i", (bytes, checksum) => {
    expect(crc16(Uint8Array.from(bytes))).toBe(checksum);
  });

  it.each([
    ["dteffuje", "2d344e83"],
    ["hknhfjbrjnlnldnhcujvddbikngjrtgh", "69b6481c8baba2b60e8f22179b58cd56"],
    ["urtubjtnuihvntcreeeecvbregfjibtn", "ecde18dbe76fbd0c33330f1c354871db"],
    ["ifhgieif", "74657374"],
    ["cbdefghijklnrtuv", "0123456789abcdef"],
  ])("modhex %s is hex %s", (modhex, text) => {
    expect(modhexToHex(modhex)).toBe(text);
    expect(modhexOf(modhexToBytes(modhex))).toBe(modhex);
  });

  it("modhex has no other letters", () => {
    for (const text of ["a", "C", "0", "cbx", " "]) expect(modhexPattern.test(text)).toBe(false);
  });
});

describe("an OTP of kind yubico", () => {
  const secret = randomBytes(16);
  const privateId = randomBytes(6);
  const code = (useCounter: number, sessionCounter: number) =>
    yubicoCode(secret, { privateId, useCounter, sessionCounter });
  const start = 5 * 256 + 4;

  it.each([
    [5, 3, "replayed"],
    [4, 255, "replayed"],
    [0, 0, "replayed"],
    [5, 4, "valid"],
    [5, 5, "valid"],
    [6, 0, "valid"],
    [0x7fff, 255, "valid"],
  ] as const)("use %i, session %i after use 5, session 3: %s", (useCounter, sessionCounter, outcome) => {
    expect(decide(secret, privateId, start, code(useCounter, sessionCounter)).outcome).toBe(outcome);
  });

  it("of another key, or with another private id, or with a wrong checksum, is invalid", () => {
    const good = code(9, 9);
    expect(decide(randomBytes(16), privateId, 0, good)).toEqual({ outcome: "invalid" });
    expect(decide(secret, randomBytes(6), 0, good)).toEqual({ outcome: "invalid" });
    const block = Buffer.alloc(16);
    block.set(privateId);
    expect(decide(secret, privateId, 0, modhexOf(encrypt(secret, block)))).toEqual({ outcome: "invalid" });
  });

  it("with any letter changed is invalid", () => {
    forAll(fc.tuple(fc.integer({ min: 0, max: 31 }), fc.integer({ min: 1, max: 15 })), ([place, shift]) => {
      const letters = [...code(9, 9)];
      const alphabet = "cbdefghijklnrtuv";
      letters[place] = alphabet[(alphabet.indexOf(letters[place] ?? "") + shift) % 16] ?? "";
      expect(decide(secret, privateId, 0, letters.join(""))).toEqual({ outcome: "invalid" });
    });
  });

  it("passes once in any order of OTPs, and no counter decreases", () => {
    const presses = fc.array(fc.tuple(fc.integer({ min: 0, max: 3 }), fc.integer({ min: 0, max: 4 })));
    forAll(presses, list => {
      let state: KeyState = { counter: 0 };
      const passed = new Set<string>();
      for (const [useCounter, sessionCounter] of list) {
        const text = code(useCounter, sessionCounter);
        const decision = decide(secret, privateId, state.counter, text);
        if (decision.outcome === "valid") {
          expect(passed.has(text)).toBe(false);
          expect(decision.nextState.counter).toBeGreaterThan(state.counter);
          passed.add(text);
          state = decision.nextState;
        } else {
          expect(decision).toEqual({ outcome: "replayed" });
        }
      }
    });
  });
});

describe("a yubico key of an import", () => {
  const good = { secret: randomBytes(16), privateId: randomBytes(6) };

  it("starts at 0, or at the least use counter that passes", () => {
    expect(yubico.prepare(good)).toEqual({ secret: good, parameters: { state: { counter: 0 } } });
    expect(yubico.prepare({ ...good, counter: 9 })).toMatchObject({ parameters: { state: { counter: 9 * 256 } } });
  });
});

const yubiotp = spawnSync("python3", ["-c", "import yubiotp"]).status === 0;

describe.skipIf(!yubiotp)(whereInstalled("compared with python3's yubiotp", "python3-yubiotp", yubiotp), () => {
  it("its OTP passes, with the counters that it was made with", () => {
    const script = [
      "from yubiotp.otp import OTP, encode_otp",
      "print(encode_otp(OTP(b'\\x01\\x02\\x03\\x04\\x05\\x06', 7, 0x123456, 9, 0xbeef), b'0123456789abcdef', b'').decode())",
    ].join("\n");
    const code = spawnSync("python3", ["-c", script], { encoding: "utf8" }).stdout.trim();
    expect(decide(Buffer.from("0123456789abcdef"), hex("010203040506"), 0, code)).toEqual(valid(7, 9));
  });
});
