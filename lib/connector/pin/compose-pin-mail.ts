import type { ConnectorDeps } from "../deps.ts";
import type { pinMailLanguages } from "../settings.ts";

/** The values of the PIN email of one security key. */
export interface PinMailContent {
  /** Empty if the delivery service reports none. */
  readonly serial: string;
  /** Name of the security key, without the serial number. */
  readonly keyName: string;
  /** Users with a credential on the key. */
  readonly userIds: readonly string[];
  readonly pin: string;
  /** Of the parcel with the security key. Empty while the delivery service reports none. */
  readonly trackingNumber: string;
}

/**
 * Returns the PIN email as plain text and HTML. All values are escaped. The subject never contains the PIN, and the
 * text before it is longer than what mail programs show of an email that is not opened, also on a locked screen.
 */
export function composePinMail(content: PinMailContent, sender: ConnectorDeps["pinMailSender"]) {
  const texts = pinMailTexts[sender.language];
  const pin = oneLine(content.pin);
  const serial = oneLine(content.serial);
  const name = [oneLine(content.keyName), ...(serial === "" ? [] : [serial])].join(": ");
  const all: readonly Row[] = [
    [texts.securityKey, name],
    [texts.serialNumber, serial],
    [texts.user(content.userIds.length), content.userIds.map(oneLine).join(", ")],
    [texts.trackingNumber, oneLine(content.trackingNumber)],
    [texts.signInAddress, oneLine(sender.signInUrl)],
    [texts.support, oneLine(sender.supportContact)],
  ];
  const rows = all.filter(([, value]) => value !== "");
  const introduction = texts.introduction(oneLine(sender.organization));
  const lines = rows.map(([label, value]) => `${label}: ${value}`);
  const subject = texts.subject(name);
  return {
    // Callers choose names, and key makers serial numbers: either may contain the digits of the PIN.
    subject: subject.includes(pin) ? texts.shortSubject : subject,
    text: [introduction, ...texts.advice, "", texts.pin, "", `    ${pin}`, "", ...lines, ""].join("\r\n"),
    html: htmlBody(sender.language, introduction, pin, rows),
  };
}

type Row = readonly [label: string, value: string];

/**
 * Uses no colours, so that the email follows the reader's light or dark scheme, no fixed widths, and loads nothing. The
 * sign-in address is not a link, because readers should not get used to signing in through links in mails. Telephones
 * are asked not to turn serial number and PIN into links.
 */
function htmlBody(
  language: keyof typeof pinMailTexts,
  introduction: string,
  pin: string,
  rows: readonly Row[],
): string {
  const texts = pinMailTexts[language];
  return `<!doctype html>
<html lang="${language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="supported-color-schemes" content="light dark">
<meta name="format-detection" content="telephone=no, date=no, address=no, email=no, url=no">
<title>${escaped(texts.shortSubject)}</title>
<style>:root { color-scheme: light dark; }</style>
</head>
<body style="margin: 0; padding: 24px 16px; font-family: 'Segoe UI', Helvetica, Arial, sans-serif; font-size: 16px; line-height: 1.5;">
<div style="max-width: 560px; margin: 0 auto;">
<p style="overflow-wrap: anywhere;">${escaped(introduction)}</p>
${texts.advice.map(sentence => `<p>${escaped(sentence)}</p>`).join("\n")}
<p>${escaped(texts.pin)}</p>
<p style="margin: 24px 0; padding: 16px; border: 1px solid #808080; border-radius: 8px; text-align: center; font-family: Consolas, Menlo, monospace; font-size: 28px; overflow-wrap: anywhere;">${escaped(pin)}</p>
<table style="border-collapse: collapse;">
${rows.map(htmlRow).join("\n")}
</table>
</div>
</body>
</html>
`;
}

const htmlRow = ([label, value]: Row): string =>
  `<tr><th scope="row" style="padding: 4px 16px 4px 0; text-align: left; vertical-align: top;">${escaped(label)}</th><td style="padding: 4px 0; vertical-align: top; overflow-wrap: anywhere;">${escaped(value)}</td></tr>`;

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};
const escaped = (text: string): string => text.replace(/[&<>"']/g, character => entities[character] ?? "");

/**
 * Replaces control and direction characters, which would break a header or change the order in which a text is shown.
 * Joiners stay: without them the user id of an emoji or an Indic name is another one.
 */
const oneLine = (text: string): string =>
  text
    .toWellFormed()
    .replace(/(?:(?!\p{Join_Control})[\p{Cc}\p{Cf}\p{Zl}\p{Zp}])+/gu, " ")
    .trim();

/** The fixed texts of the PIN email in one language. They contain no markup; the caller escapes them. */
interface PinMailTexts {
  /** @param key name and serial number of the security key */
  readonly subject: (key: string) => string;
  /** The subject if name or serial number contains the digits of the PIN. */
  readonly shortSubject: string;
  /** The first sentence. @param organization who sends the email; empty if the settings do not name it */
  readonly introduction: (organization: string) => string;
  /** The line before the PIN. */
  readonly pin: string;
  readonly securityKey: string;
  readonly serialNumber: string;
  readonly user: (count: number) => string;
  readonly trackingNumber: string;
  readonly signInAddress: string;
  readonly support: string;
  /** What the PIN is for, how to keep it, and what to do if the email was not expected. */
  readonly advice: readonly string[];
}

const pinMailTexts: Readonly<Record<(typeof pinMailLanguages)[number], PinMailTexts>> = {
  en: {
    subject: key => `PIN for security key ${key}`,
    shortSubject: "PIN for your security key",
    introduction: organization =>
      organization === ""
        ? "A security key has been prepared. This email has its PIN."
        : `${organization} has prepared a security key. This email has its PIN.`,
    pin: "The PIN is:",
    securityKey: "Security key",
    serialNumber: "Serial number",
    user: count => (count === 1 ? "User" : "Users"),
    trackingNumber: "Tracking number",
    signInAddress: "Sign in at",
    support: "Support",
    advice: [
      "You need the PIN when you sign in with the security key.",
      "Give the PIN only to the person who uses the security key, and keep it apart from the key. Support will never ask for it, neither by email nor by telephone.",
      "If you did not expect this email, do not use the PIN and do not pass it on: report the email to your support.",
    ],
  },
  de: {
    subject: key => `PIN für Sicherheitsschlüssel ${key}`,
    shortSubject: "PIN für Ihren Sicherheitsschlüssel",
    introduction: organization =>
      organization === ""
        ? "Ein Sicherheitsschlüssel wurde vorbereitet. Diese E-Mail enthält seine PIN."
        : `${organization} hat einen Sicherheitsschlüssel vorbereitet. Diese E-Mail enthält seine PIN.`,
    pin: "Die PIN lautet:",
    securityKey: "Sicherheitsschlüssel",
    serialNumber: "Seriennummer",
    user: () => "Benutzer",
    trackingNumber: "Sendungsnummer",
    signInAddress: "Anmelden unter",
    support: "Support",
    advice: [
      "Sie brauchen die PIN, wenn Sie sich mit dem Sicherheitsschlüssel anmelden.",
      "Geben Sie die PIN nur der Person, die den Sicherheitsschlüssel benutzt, und bewahren Sie sie getrennt vom Schlüssel auf. Der Support fragt nie nach der PIN, weder per E-Mail noch am Telefon.",
      "Falls Sie diese E-Mail nicht erwartet haben, benutzen Sie die PIN nicht und geben Sie sie nicht weiter: Melden Sie die E-Mail Ihrem Support.",
    ],
  },
};
