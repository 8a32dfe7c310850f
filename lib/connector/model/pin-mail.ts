import type { SecurityKey } from "./security-key.ts";

/** The languages of PIN emails, as BCP 47 tags. */
export const pinMailLanguages = ["en", "de"] as const;

export type PinMailLanguage = (typeof pinMailLanguages)[number];

/** Who sends PIN emails and in which language, from the settings. Empty texts are left out of the email. */
export interface PinMailSender {
  readonly language: PinMailLanguage;
  readonly organization: string;
  readonly supportContact: string;
  readonly signInUrl: string;
}

/** Whether PIN emails may be sent to the address. @param domains in lower case; an empty list allows any domain */
export function isMailable(email: string, domains: readonly string[]): boolean {
  return domains.length === 0 || domains.includes(email.slice(email.lastIndexOf("@") + 1).toLowerCase());
}

/** Returns the message of a PIN email in reads: why it was not sent, and which addresses were left out. */
export function pinMailMessage({ retry, leftOut = [] }: SecurityKey["mail"]): string | undefined {
  const note = leftOut.length === 0 ? undefined : `PIN_MAIL_DOMAINS does not allow: ${leftOut.join(", ")}.`;
  return [retry?.lastError, note].filter(text => text !== undefined).join(" ") || undefined;
}
