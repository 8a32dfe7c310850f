import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { ConnectorDeps } from "../../../../lib/connector/deps.ts";
import { composePinMail as compose, type PinMailContent } from "../../../../lib/connector/pin/compose-pin-mail.ts";
import { pinMailLanguages } from "../../../../lib/connector/settings.ts";

const content: PinMailContent = {
  serial: "30000001",
  keyName: "Desk key",
  userIds: ["jan@example.com", "o'neil+1@example.com"],
  pin: "482913",
  trackingNumber: "JD0146000030",
};

/** A deployment that has none of the settings. */
const unnamed: ConnectorDeps["pinMailSender"] = { language: "en", organization: "", supportContact: "", signInUrl: "" };
const named: ConnectorDeps["pinMailSender"] = {
  language: "en",
  organization: "Example & Sons",
  supportContact: "support@example.com",
  signInUrl: "https://sign-in.example.com",
};
const composePinMail = (of: PinMailContent, sender = unnamed) => compose(of, sender);

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
    .replace(/[[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]--\p{Join_Control}]+/gv, " ")
    .trim();

const nasty = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.string({ unit: fc.constantFrom("<", ">", "&", '"', "'", ";", "\r", "\n", "$", "{", "\u202e", "\ud800", "a") }),
  fc.constantFrom("<script>", "&amp;", "</td>", "$&", "$1", "\r\nBcc: eve@example.com", "<!--"),
);
const word = nasty.filter(text => plain(text) !== "");
const pin = fc.stringMatching(/^[!-~]{4,63}$/);
const any = fc.record({
  serial: word,
  trackingNumber: word,
  keyName: word,
  userIds: fc.array(word, { minLength: 2, maxLength: 3 }),
  pin,
});
const anySender = fc.record({
  language: fc.constantFrom(...pinMailLanguages),
  organization: word,
  supportContact: word,
  signInUrl: word,
});

describe("the PIN email", () => {
  test.each(pinMailLanguages)(
    "has no PIN in its first 300 characters, which are shown before it is opened (%s)",
    language => {
      for (const sender of [unnamed, { ...named, organization: "A" }]) {
        const { text, html } = composePinMail({ ...content, pin: "4829" }, { ...sender, language });
        expect(text.slice(0, 300)).not.toContain("4829");
        const visible = unescaped(html.slice(html.indexOf("<body")))
          .replaceAll("\u0001", " ")
          .replaceAll(/\s+/g, " ");
        expect(visible.slice(0, 300)).not.toContain("4829");
      }
    },
  );

  test("shows serial, key name, user ids separated by commas and the PIN, as text and as HTML", () => {
    const { subject, text, html } = composePinMail(content);
    expect(subject).toBe("PIN for security key Desk key: 30000001");
    for (const part of ["Desk key: 30000001", "482913"]) {
      expect(text).toContain(part);
      expect(html).toContain(part);
    }
    expect(text).toContain("Users: jan@example.com, o'neil+1@example.com\r\n");
    expect(html).toContain("jan@example.com, o&#39;neil+1@example.com");
  });

  test("names one user in the singular", () => {
    expect(composePinMail({ ...content, userIds: ["jan"] }).text).toContain("User: jan\r\n");
  });

  test("names the key alone if there is no serial number", () => {
    const { subject, text } = composePinMail({ ...content, serial: "" });
    expect(subject).toBe("PIN for security key Desk key");
    expect(text).not.toContain("Serial");
  });

  test("names the tracking number once the delivery service has reported one", () => {
    expect(composePinMail(content).text).toContain("\r\nTracking number: JD0146000030\r\n");
    expect(composePinMail({ ...content, trackingNumber: "" }).text).not.toContain("Tracking");
  });

  test("never has the PIN in the subject, also if name or serial number contains it", () => {
    expect(composePinMail({ ...content, serial: "48291399" }).subject).toBe("PIN for your security key");
    const chance = fc.property(any, fc.stringMatching(/^[0-9]{4,8}$/), (made, digits) => {
      const { subject } = composePinMail({ ...made, keyName: `${made.keyName}${digits}`, pin: digits });
      expect(subject).not.toContain(digits);
    });
    fc.assert(chance);
  });

  test("names organization, sign-in address and support, and says what to do if the mail is not expected", () => {
    const { text, html } = composePinMail(content, named);
    expect(text).toMatch(/^Example & Sons has prepared a security key\. This email has its PIN\.\r\n/);
    expect(text).toContain("\r\nThe PIN is:\r\n\r\n    482913\r\n");
    expect(html).toContain("Example &amp; Sons has prepared a security key.");
    for (const row of ["Sign in at: https://sign-in.example.com", "Support: support@example.com"])
      expect(text).toContain(`${row}\r\n`);
    for (const value of [">https://sign-in.example.com<", ">support@example.com<"]) expect(html).toContain(value);
    for (const body of [text, html]) expect(body).toContain("If you did not expect this email, do not use the PIN");
  });

  test("leaves out what the settings do not name", () => {
    const { text } = composePinMail(content);
    expect(text).toMatch(/^A security key has been prepared\. This email has its PIN\.\r\n/);
    expect(text).not.toMatch(/^(?:Sign in at|Support):/m);
  });

  test("is written in the language of the settings", () => {
    const { subject, text, html } = composePinMail(content, { ...named, language: "de" });
    expect(subject).toBe("PIN für Sicherheitsschlüssel Desk key: 30000001");
    expect(text).toMatch(
      /^Example & Sons hat einen Sicherheitsschlüssel vorbereitet\. Diese E-Mail enthält seine PIN\.\r\n/,
    );
    expect(text).toContain("Benutzer: jan@example.com, o'neil+1@example.com\r\n");
    expect(text).toContain("Falls Sie diese E-Mail nicht erwartet haben");
    expect(html).toContain('<html lang="de">');
  });

  test("keeps the joiners of a user id, and no direction override", () => {
    const userIds = ["\u{1f469}\u200d\u{1f680}@example.com", "क्\u200dष", "a\u202eb"];
    const { text, html } = composePinMail({ ...content, userIds }, named);
    for (const body of [text, html]) expect(body).toContain(`${userIds[0]}, ${userIds[1]}, a b`);
  });

  test("has the same tags and shows all values, with any values in any language", () => {
    const expected = tags(composePinMail(content, named).html).slice(2);
    const samples = fc.property(any, anySender, (made, sender) => {
      const { html } = composePinMail(made, sender);
      expect(tags(html).slice(2)).toEqual(expected);
      expect(html.replace(/&(amp|lt|gt|quot|#39);/g, "")).not.toContain("&");
      const shown = unescaped(html).split("\u0001");
      for (const value of [made.pin, made.serial, made.trackingNumber, sender.supportContact, sender.signInUrl])
        expect(shown).toContain(plain(value));
      expect(shown.join("")).toContain(plain(sender.organization));
      expect(shown).toContain(made.userIds.map(plain).join(", "));
    });
    fc.assert(samples, { numRuns: 500 });
  });

  test("shows every field of its values and of its sender, as text and as HTML", () => {
    const { language: _, ...shownOfSender } = named;
    const { text, html } = composePinMail(content, named);
    for (const value of Object.values({ ...content, ...shownOfSender }).flat())
      for (const body of [text, unescaped(html)]) expect(body).toContain(value);
    // The name of the key has the serial number, too.
    for (const body of [text, unescaped(html)]) expect(body.split(content.serial)).toHaveLength(3);
  });

  test("has the same lines with any values in any language, so that no value starts a line or a header", () => {
    const lines = composePinMail(content, named).text.split("\r\n").length;
    const samples = fc.property(any, anySender, (made, sender) => {
      const { subject, text } = composePinMail(made, sender);
      expect(subject).not.toMatch(/[[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]--\p{Join_Control}]/v);
      expect(text.split(/[\r\n\u2028\u2029]+/)).toHaveLength(text.split(/(?:\r\n)+/).length);
      expect(text.split("\r\n")).toHaveLength(lines);
    });
    fc.assert(samples, { numRuns: 500 });
  });

  test("loads nothing, links nothing, and keeps to the reader's light or dark scheme", () => {
    const { html } = composePinMail(content, named);
    expect(html.replace(named.signInUrl, "")).not.toMatch(/src=|href=|url\(|@import|<img|<link|https?:/i);
    expect(html).toContain('name="color-scheme" content="light dark"');
    expect(html).not.toMatch(/[;"\s](?:color|background(?:-color)?):/);
    expect(html).toContain('name="viewport"');
    expect(html).toContain('name="format-detection" content="telephone=no');
  });
});
