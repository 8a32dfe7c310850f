import { randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import { sameSecret, secretFromText, secretToText } from "../../../../../lib/auth/otpkeys/kinds/key-secret.ts";
import { raiseCounter } from "../../../../../lib/auth/otpkeys/merge-import.ts";

const oath = { secret: new Uint8Array(randomBytes(20)) };
const yubico = { secret: new Uint8Array(randomBytes(16)), privateId: new Uint8Array(randomBytes(6)) };

describe("a key's secret", () => {
  it("comes back from its text as it was", () => {
    for (const secret of [oath, yubico]) expect(secretFromText(secretToText(secret))).toEqual(secret);
  });

  it("does not appear in the error for an invalid text", () => {
    for (const text of ["", "{}", "zz", "deadbee", "deadbeef.", ".deadbeef", "deadbeef.dead.beef", "DEADBEEF"]) {
      expect(() => secretFromText(text)).toThrow(/^The secret of an OTP key is malformed$/);
    }
  });

  it("is the same only with secret and private id alike", () => {
    expect(sameSecret(yubico, { ...yubico })).toBe(true);
    expect(sameSecret(oath, yubico)).toBe(false);
    expect(sameSecret(yubico, { secret: yubico.secret })).toBe(false);
    expect(sameSecret(yubico, { ...yubico, privateId: new Uint8Array(6) })).toBe(false);
    expect(sameSecret(yubico, { ...yubico, secret: new Uint8Array(16) })).toBe(false);
  });
});

describe("a key that is imported again", () => {
  it("keeps the higher counter, and a resynchronisation that is still ahead", () => {
    expect(raiseCounter({ counter: 5 }, { counter: 0 })).toEqual({ counter: 5 });
    expect(raiseCounter({ counter: 5 }, { counter: 9 })).toEqual({ counter: 9 });
    expect(raiseCounter({ counter: 5, resync: 30 }, { counter: 9 })).toEqual({ counter: 9, resync: 30 });
    expect(raiseCounter({ counter: 5, resync: 30 }, { counter: 31 })).toEqual({ counter: 31 });
  });

  it("keeps the drift, which a resynchronisation may have recorded since", () => {
    expect(raiseCounter({ counter: 5, drift: -3 }, { counter: 9, drift: 1 })).toEqual({ counter: 9, drift: -3 });
  });
});
