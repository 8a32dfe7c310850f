import * as fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { isCommonPassword } from "../../../lib/auth/common-passwords.ts";
import { parseNewPassword } from "../../../lib/auth/password.ts";

const parse = (text: string, minLength = 8, empty: "none" | "refused" = "refused") =>
  parseNewPassword(text, "Zaphod Beeblebrox", { minLength, empty });
const reason = (text: string) => ({ ok: false, reason: text });

describe("a new password (decision A4)", () => {
  it.each([
    ["correct horse", "correct horse"],
    ["        ", "        "],
    ["  spaces stay  ", "  spaces stay  "],
    ["e\u0301e\u0301e\u0301e\u0301e\u0301e\u0301e\u0301e\u0301", "é".repeat(8)],
    ["😀🤖😀🤖😀🤖😀🤖", "😀🤖😀🤖😀🤖😀🤖"],
    ["x".repeat(1024), "x".repeat(1024)],
    ["😀".repeat(1024), "😀".repeat(1024)],
  ])("may be %j", async (text, value) => {
    expect(await parse(text)).toEqual({ ok: true, value });
  });

  it.each([
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

  it("is not normalised where it is too long in any normal form: of a megabyte of marks that takes minutes", async () => {
    const normalize = vi.spyOn(String.prototype, "normalize");
    try {
      expect(await parse(`a${"\u0301\u0316".repeat(2048)}`)).toEqual(reason("must have at most 1024 characters"));
      expect(normalize).not.toHaveBeenCalled();
    } finally {
      normalize.mockRestore();
    }
  });

  it.each(["Zaphod Beeblebrox", "zaphod beeblebrox", " ZAPHOD BEEBLEBROX "])("is not the username: %j", async text => {
    expect(await parse(text)).toEqual(reason("must not be the username"));
  });

  it.each(["password1", "PASSWORD1", "12345678", "iloveyou1", "qwertyuiop", "trustno1"])(
    "is not a common one: %j",
    async text => {
      expect(await parse(text)).toEqual(reason("must not be a common password"));
    },
  );

  it("is well-formed Unicode", async () => {
    expect(await parse("\ud800abcdefgh")).toEqual(reason("must be well-formed Unicode"));
  });

  it("stands for none where it is empty, unless that is refused", async () => {
    expect(await parse("", 8, "none")).toEqual({ ok: true, value: undefined });
    expect(await parse("")).toEqual(reason("must have at least 8 characters"));
  });

  it("is never told in the reason for its refusal", async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: "grapheme", minLength: 4, maxLength: 7 }), async text => {
        const result = await parse(text, 20);
        expect(result.ok ? "" : result.reason).toBe("must have at least 20 characters");
      }),
    );
  });
});

describe("the list of common passwords", () => {
  it("has at least the 3,000 most common that fit the least length (ASVS 6.2.4)", async () => {
    const { dictionary } = await import("@zxcvbn-ts/language-common");
    const fitting = dictionary["passwords-common"].filter(word => word.length >= 8);
    expect(fitting.length).toBeGreaterThanOrEqual(3000);
    expect(await isCommonPassword(fitting[2999] ?? "")).toBe(true);
  });

  it("does not hold what nobody uses", async () => {
    expect(await isCommonPassword("tr0ub4dor & 3 horses")).toBe(false);
  });
});
