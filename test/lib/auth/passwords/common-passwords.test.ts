import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isCommonPassword } from "../../../../lib/auth/passwords/new-password.ts";

const { dictionary } = await import("@zxcvbn-ts/language-common");

describe("a common password", () => {
  it.each(["password1", "PASSWORD1", "iloveyou1", "trustno1", "p@ssw0rd", "1qaz2wsx", "qazwsxedc"])(
    "is one on the list, in any letter case: %j",
    async text => expect(await isCommonPassword(text)).toBe(true),
  );

  it.each([
    "88888888",
    "00000000",
    "aaaaaaaa",
    "zzzzzzzz",
    "111111111111111",
    "12341234",
    "123123123",
    "1231231231",
    "ab-ab-ab-a",
    "!!!!!!!!",
    "éééééééé",
    "😀🤖😀🤖😀🤖😀🤖",
    "ыыыыыыыы",
    "trustno1trustno1",
    "passwordpasswordpassword",
    "qwertyuiopqwertyuiop",
    "a".repeat(1024),
  ])("repeats a short or common unit: %j", async text => expect(await isCommonPassword(text)).toBe(true));

  it.each([
    "12345678",
    "87654321",
    "1234567890123",
    "98765432109876",
    "abcdefgh",
    "ABCDEFGH",
    "abcdefghijklmno",
    "ponmlkjihgfedcba",
    "uvwxyzabc",
    "абвгдежз",
    "あぃいぅうぇえぉ",
    "qwertyuiop",
    "poiuytrewq",
    "asdfghjkl;",
    "';lkjhgfdsa",
    "qwertzuiop",
    "azertyuiop",
    "!@#$%^&*(",
    "bnm,./",
  ])("runs up, down or along a keyboard row: %j", async text => expect(await isCommonPassword(text)).toBe(true));

  it.each([
    "ｐａｓｓｗｏｒｄ",
    "𝐩𝐚𝐬𝐬𝐰𝐨𝐫𝐝",
    "  password  ",
    "\u3000password\t",
    "pass\u200bword",
    "p\u00ada\u2060s\ufeffs\u200dw\ufe0fo\u034fr\u{e0020}d",
    "１２３４５６７８",
    "\u200b".repeat(8),
    "\u3164".repeat(8),
    "        ",
    "a\u200b".repeat(8),
    "abc\u200b\u200c\u200d\u2060\ufeff",
  ])("is compared after NFKC, without invisible characters and outer blanks: %j", async text =>
    expect(await isCommonPassword(text)).toBe(true),
  );

  it.each([
    "correct horse battery staple",
    "correct horse",
    "tr0ub4dor & 3 horses",
    "kX9#mP2v",
    "abcdefgi",
    "13249768",
    "qwertyuip",
    "aaaaaaab",
    "ab😀cd🤖ef",
    "lesung lesung",
    "ünïcödé ok",
    `${"a".repeat(1023)}b`,
  ])("is not %j", async text => expect(await isCommonPassword(text)).toBe(false));

  it("is not a random one", async () => {
    const character = fc.integer({ min: 0x21, max: 0x7e }).map(code => String.fromCharCode(code));
    const random = fc.noBias(fc.array(character, { minLength: 12, maxLength: 64 }));
    await fc.assert(
      fc.asyncProperty(random, async characters => {
        expect(await isCommonPassword(characters.join(""))).toBe(false);
      }),
    );
  });

  it("is not a passphrase of different words", async () => {
    const words = fc.uniqueArray(fc.constantFrom(...dictionary["diceware-common"]), { minLength: 4, maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(words, fc.constantFrom(" ", "-", "", "."), async (chosen, between) => {
        expect(await isCommonPassword(chosen.join(between))).toBe(false);
      }),
    );
  });
});

describe("the list of common passwords", () => {
  it("has at least 10,000 that fit the least length, in the form in which they are compared", () => {
    const fitting = dictionary["passwords-common"].filter(word => word.length >= 8);
    expect(fitting.length).toBeGreaterThanOrEqual(10_000);
    expect(fitting.filter(word => word !== word.normalize("NFKC").toLowerCase().trim())).toEqual([]);
  });
});
