import { describe, expect, it } from "vitest";
import { possiblePrefixes, splitOtp } from "../../../../../lib/auth/otpkeys/kinds/split-otp.ts";

const us = "cbdefghijklnrtuv0123456789";
/** The characters of each layout in the positions of `us`, copied from the layouts' tables. */
const layouts = {
  Dvorak: "jxe.uidchtnbpygk0123456789",
  Colemak: "cbsftdhuneikpglv0123456789",
  AZERTY: "cbdefghijklnrtuvà&é\"'(-è_ç",
  "AZERTY with caps lock": "CBDEFGHIJKLNRTUVÀ&É\"'(-È_Ç",
  QWERTZ: "cbdefghijklnrtuv0123456789",
  "QWERTZ with caps lock": 'CBDEFGHIJKLNRTUV=!"§$%&/()',
  "US with caps lock": "CBDEFGHIJKLNRTUV0123456789",
};
const typed = (sent: string, layout: string) =>
  [...sent].map(character => layout.charAt(us.indexOf(character))).join("");

const prefix = "vvincredible";
const code = "hknhfjbrjnlnldnhcujvddbikngjrtgh";
const yubico = { kind: "yubico" } as const;
const hotp = { kind: "hotp", digits: 6 } as const;
type Shape = typeof yubico | typeof hotp;
const cutOf = (otp: string, known: Readonly<Record<string, Shape>>) => {
  const keys = Object.entries(known).map(([prefix, { kind, ...parameters }]) => ({
    value: { prefix, kind, parameters },
    version: "",
  }));
  const split = splitOtp(otp, keys);
  return split && [split.key.value.prefix, split.code];
};

describe("an OTP that is typed under another keyboard layout", () => {
  it.each(Object.entries(layouts))("is understood under %s, with one key to read", (_, layout) => {
    for (const otp of [typed(prefix + code, layout), typed(prefix + code, layout).toUpperCase()]) {
      expect(cutOf(otp, { [prefix]: yubico })).toEqual([prefix, code]);
      expect(possiblePrefixes(otp)).toEqual([prefix]);
    }
  });

  it.each(Object.entries(layouts).filter(([name]) => !["Dvorak", "Colemak"].includes(name)))(
    "is understood under %s also where the code has digits",
    (_, layout) => {
      const otp = typed("ubhe12345678755224", layout);
      expect(cutOf(otp, { ubhe12345678: hotp })).toEqual(["ubhe12345678", "755224"]);
      expect(possiblePrefixes(otp).length).toBeLessThanOrEqual(3);
    },
  );

  it("can have the point of Dvorak before a code of digits", () => {
    expect(cutOf("gxd.755224", { ubhe: hotp })).toEqual(["ubhe", "755224"]);
  });

  it("stays as it was typed where two keys would look alike, and is refused where two other layouts lead to two keys", () => {
    // Letters of modhex that Dvorak and Colemak have too.
    const asTyped = "cbtdhuneikgk";
    const otp = `${asTyped}cbtdhuneikgcbtdhuneikgcbtdhuneik`;
    const [first, dvorak = "", colemak = "", ...more] = possiblePrefixes(otp);
    expect([first, more]).toEqual([asTyped, []]);
    expect(cutOf(otp, { [dvorak]: yubico })?.[0]).toBe(dvorak);
    expect(cutOf(otp, { [colemak]: yubico })?.[0]).toBe(colemak);
    expect(cutOf(otp, { [dvorak]: yubico, [colemak]: yubico })).toBeUndefined();
    expect(cutOf(otp, { [asTyped]: yubico, [dvorak]: yubico })?.[0]).toBe(asTyped);
    expect(cutOf(otp, { [asTyped]: yubico, [dvorak]: yubico, [colemak]: yubico })?.[0]).toBe(asTyped);
  });

  it("costs no further read where it is typed under the US layout", () => {
    expect(possiblePrefixes(prefix + code)).toEqual([prefix]);
    expect(possiblePrefixes(`ubhecc755224`)).toEqual(["ubhecc"]);
  });

  it("leads to at most six keys for any text", () => {
    const alphabet = [...new Set(Object.values(layouts).join(""))];
    for (let length = 7; length < 66; length++) {
      for (const [offset] of alphabet.entries()) {
        const text = Array.from({ length }, (_, index) => alphabet[(index * (offset + 1)) % alphabet.length]).join("");
        expect(possiblePrefixes(text).length).toBeLessThanOrEqual(6);
      }
      for (const one of alphabet) expect(possiblePrefixes(one.repeat(length)).length).toBeLessThanOrEqual(6);
    }
  });
});
