import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { composePinMail, type PinMailContent } from "../../../../lib/connector/pin/compose-pin-mail.ts";

const content: PinMailContent = {
  serial: "30000001",
  keyName: "Desk key",
  userIds: ["jan@example.com", "o'neil+1@example.com"],
  pin: "482913",
};

const tags = (html: string) => html.match(/<[^>]*>/g) ?? [];
const unescaped = (html: string) =>
  html
    .replace(/<[^>]*>/g, "\u0001")
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&quot;", '"')
    .replaceAll("&#39;", "'")
    .replaceAll("&amp;", "&");
/** As it can be seen on one line. */
const plain = (text: string) =>
  text
    .toWellFormed()
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, " ")
    .trim();

const nasty = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.string({ unit: fc.constantFrom("<", ">", "&", '"', "'", ";", "\r", "\n", "$", "{", "\u202e", "\ud800", "a") }),
  fc.constantFrom("<script>", "&amp;", "</td>", "$&", "$1", "\r\nBcc: eve@example.com", "<!--"),
);
const word = nasty.filter(text => plain(text) !== "");
const pin = fc.stringMatching(/^[!-~]{4,63}$/);
const any = fc.record({ serial: word, keyName: word, userIds: fc.array(word, { minLength: 2, maxLength: 3 }), pin });

describe("the PIN mail", () => {
  test("tells serial, key name, user ids separated by commas and the PIN, as text and as HTML", () => {
    const { subject, text, html } = composePinMail(content);
    expect(subject).toBe("PIN for security key Desk key: 30000001");
    for (const part of ["Desk key: 30000001", "482913"]) {
      expect(text).toContain(part);
      expect(html).toContain(part);
    }
    expect(text).toContain("Users: jan@example.com, o'neil+1@example.com\r\n");
    expect(html).toContain("jan@example.com, o&#39;neil+1@example.com");
  });

  test("with one user speaks of one user", () => {
    expect(composePinMail({ ...content, userIds: ["jan"] }).text).toContain("User: jan\r\n");
  });

  test("without a serial names the key alone", () => {
    const { subject, text } = composePinMail({ ...content, serial: "" });
    expect(subject).toBe("PIN for security key Desk key");
    expect(text).not.toContain("Serial");
  });

  test("never has the PIN in the subject, not even by chance", () => {
    expect(composePinMail({ ...content, serial: "48291399" }).subject).toBe("PIN for your security key");
    const chance = fc.property(any, fc.stringMatching(/^[0-9]{4,8}$/), (made, digits) => {
      const { subject } = composePinMail({ ...made, keyName: `${made.keyName}${digits}`, pin: digits });
      expect(subject).not.toContain(digits);
    });
    fc.assert(chance);
  });

  test("whatever the values hold, the HTML has the same tags and shows the values", () => {
    const expected = tags(composePinMail(content).html);
    const samples = fc.property(any, made => {
      const { html } = composePinMail(made);
      expect(tags(html)).toEqual(expected);
      expect(html.replace(/&(amp|lt|gt|quot|#39);/g, "")).not.toContain("&");
      const shown = unescaped(html).split("\u0001");
      expect(shown).toContain(made.pin);
      expect(shown).toContain(plain(made.serial));
      expect(shown).toContain(made.userIds.map(plain).join(", "));
    });
    fc.assert(samples, { numRuns: 500 });
  });

  test("no value makes a new line, in the subject or in the text", () => {
    const lines = composePinMail(content).text.split("\r\n").length;
    const samples = fc.property(any, made => {
      const { subject, text } = composePinMail(made);
      expect(subject).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
      expect(text.split(/[\r\n\u2028\u2029]+/)).toHaveLength(text.split(/(?:\r\n)+/).length);
      expect(text.split("\r\n")).toHaveLength(lines);
    });
    fc.assert(samples, { numRuns: 500 });
  });

  test("loads nothing, links nothing, and keeps to the reader's light or dark scheme", () => {
    const { html } = composePinMail(content);
    expect(html).not.toMatch(/src=|href=|url\(|@import|<img|<link|https?:/i);
    expect(html).toContain('name="color-scheme" content="light dark"');
    expect(html).not.toMatch(/[;"\s](?:color|background(?:-color)?):/);
    expect(html).toContain('name="viewport"');
    expect(html).toContain('name="format-detection" content="telephone=no');
  });
});
