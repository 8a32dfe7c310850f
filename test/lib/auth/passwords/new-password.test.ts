import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseNewPassword } from "../../../../lib/auth/passwords/new-password.ts";

const parse = (text: string, minLength = 8) => parseNewPassword(text, "Zaphod Beeblebrox", minLength);
/** Of 1,024 code points, without a repetition. */
const long = (character: string) => `${character.repeat(1023)}!`;
const reason = (text: string) => ({ ok: false, reason: text });

describe("a new password", () => {
  it.each([
    ["correct horse", "correct horse"],
    ["  spaces stay  ", "  spaces stay  "],
    ["cafe\u0301 ole\u0301", "café olé"],
    ["😀🤖👻🎃🐙🦀🌵🍉", "😀🤖👻🎃🐙🦀🌵🍉"],
    [long("x"), long("x")],
    [long("😀"), long("😀")],
  ])("may be %j", async (text, value) => {
    expect(await parse(text)).toEqual({ ok: true, value });
  });

  it.each([
    ["", 8],
    ["seven ch", 9],
    ["😀".repeat(7), 8],
    ["e\u0301".repeat(7), 8],
    ["fourteen chars", 15],
  ])("%j is shorter than %i code points", async (text, least) => {
    expect(await parse(text, least)).toEqual(reason(`must have at least ${least} characters`));
  });

  it.each(["x".repeat(1025), "😀".repeat(1025)])("has at most 1024 code points", async text => {
    expect(await parse(text)).toEqual(reason("must have at most 1024 characters"));
  });

  it.each([
    "Zaphod Beeblebrox",
    "zaphod beeblebrox",
    " ZAPHOD BEEBLEBROX ",
    "Ｚａｐｈｏｄ Ｂｅｅｂｌｅｂｒｏｘ",
    "Zaphod\u200b Beeble\u00adbrox",
  ])("is not the username: %j", async text => {
    expect(await parse(text)).toEqual(reason("must not be the username"));
  });

  it("is not compared with a username that is not known", async () => {
    expect(await parseNewPassword("Zaphod Beeblebrox", undefined, 8)).toEqual({ ok: true, value: "Zaphod Beeblebrox" });
    expect(await parseNewPassword(" ".repeat(8), undefined, 8)).toEqual(
      reason("must not be a common password, a repetition, or a run such as abcdefgh"),
    );
  });

  it("is not a common one", async () => {
    expect(await parse("password1")).toEqual(
      reason("must not be a common password, a repetition, or a run such as abcdefgh"),
    );
  });

  it("is well-formed Unicode", async () => {
    expect(await parse("\ud800abcdefgh")).toEqual(reason("must be well-formed Unicode"));
  });

  it("never appears in the reason for its refusal", async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: "grapheme", minLength: 4, maxLength: 7 }), async text => {
        const result = await parse(text, 20);
        expect(result.ok ? "" : result.reason).toBe("must have at least 20 characters");
      }),
    );
  });
});
