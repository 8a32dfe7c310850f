import { describe, expect, it } from "vitest";
import { hasHiddenCharacters, withoutHiddenCharacters } from "../../../lib/platform/text.ts";

describe("a text without hidden characters", () => {
  it.each([
    ["Ada\u200b Lovelace\ufeff", "Ada Lovelace"],
    ["\u202a+15550100\u202c", "+15550100"],
    ["12 \u202eteertS", "12 teertS"],
    ["Mül\u00adler", "Müller"],
    ["\u3164", ""],
    ["\u200b \u2060\u200d\ufe0f\u2800", ""],
    ["", ""],
  ])("of %j is %j", (text, shown) => {
    expect(withoutHiddenCharacters(text)).toBe(shown);
    expect(hasHiddenCharacters(shown)).toBe(false);
  });

  it.each(["\u{1f469}\u200d\u{1f680}", "❤\ufe0f", "क्\u200dष", "علی\u200cرضا", "a b", "日本\u{e0100}"])(
    "keeps %j",
    text => {
      expect(withoutHiddenCharacters(text)).toBe(text);
      expect(hasHiddenCharacters(text)).toBe(false);
    },
  );
});
