/** The content of the PIN mail of one security key. */
export interface PinMailContent {
  /** Empty if the key maker sent none. */
  readonly serial: string;
  /** Without the serial number. */
  readonly keyName: string;
  /** The users with a credential on the security key. */
  readonly userIds: readonly string[];
  readonly pin: string;
}

export interface MailText {
  readonly subject: string;
  readonly text: string;
  readonly html: string;
}

/** Returns the PIN mail as plain text and HTML. Values are escaped, and the PIN is in the body only. */
export function composePinMail(content: PinMailContent): MailText {
  const pin = oneLine(content.pin);
  const serial = oneLine(content.serial);
  const name = [oneLine(content.keyName), ...(serial === "" ? [] : [serial])].join(": ");
  const rows: Rows = [
    ["Security key", name],
    ...(serial === "" ? [] : [["Serial number", serial] as const]),
    [content.userIds.length === 1 ? "User" : "Users", content.userIds.map(oneLine).join(", ")],
  ];
  const full = `PIN for security key ${name}`;
  return {
    // A name or serial number may contain the digits of the PIN.
    subject: full.includes(pin) ? "PIN for your security key" : full,
    text: textBody(rows, pin),
    html: htmlBody(rows, pin),
  };
}

const greeting = "A security key has been prepared. Its PIN is:";
const advice = [
  "The PIN is asked for when the key is used to sign in.",
  "Hand it only to the person who uses the key, and keep it apart from the key. Nobody will ever ask you for it by mail or telephone.",
] as const;

type Rows = readonly (readonly [label: string, value: string])[];

const textBody = (rows: Rows, pin: string): string =>
  [greeting, "", `    ${pin}`, "", ...rows.map(([label, value]) => `${label}: ${value}`), "", ...advice, ""].join(
    "\r\n",
  );

/**
 * Returns the HTML body. It has no colours except those of the reader's light or dark scheme, no fixed widths and no external content, and
 * asks telephones not to make links of serial number and PIN.
 */
const htmlBody = (rows: Rows, pin: string): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="supported-color-schemes" content="light dark">
<meta name="format-detection" content="telephone=no, date=no, address=no, email=no, url=no">
<title>Security key PIN</title>
<style>:root { color-scheme: light dark; }</style>
</head>
<body style="margin: 0; padding: 24px 16px; font-family: 'Segoe UI', Helvetica, Arial, sans-serif; font-size: 16px; line-height: 1.5;">
<div style="max-width: 560px; margin: 0 auto;">
<p>${greeting}</p>
<p style="margin: 24px 0; padding: 16px; border: 1px solid #808080; border-radius: 8px; text-align: center; font-family: Consolas, Menlo, monospace; font-size: 28px; overflow-wrap: anywhere;">${escaped(pin)}</p>
<table style="border-collapse: collapse;">
${rows.map(row).join("\n")}
</table>
${advice.map(sentence => `<p>${sentence}</p>`).join("\n")}
</div>
</body>
</html>
`;

const row = ([label, value]: Rows[number]) =>
  `<tr><th scope="row" style="padding: 4px 16px 4px 0; text-align: left; vertical-align: top;">${label}</th><td style="padding: 4px 0; vertical-align: top; overflow-wrap: anywhere;">${escaped(value)}</td></tr>`;

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};
const escaped = (text: string): string => text.replace(/[&<>"']/g, sign => entities[sign] ?? "");

/** Returns the text without control and direction characters, which could break a header or reverse the displayed text. */
const oneLine = (text: string): string =>
  text
    .toWellFormed()
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, " ")
    .trim();
