import type { PinMail } from "./request.ts";

/** Whether PIN mails may be sent to the address. @param domains in lower case; an empty list allows any domain */
export function isMailable(email: string, domains: readonly string[]): boolean {
  return domains.length === 0 || domains.includes(email.slice(email.lastIndexOf("@") + 1).toLowerCase());
}

/** Returns the message of a PIN mail in reads: why it was not sent, and which addresses were left out. */
export function pinMailMessage({ retry, leftOut = [] }: PinMail): string | undefined {
  const note =
    leftOut.length === 0 ? undefined : `Not in a domain that PIN mails may go to, and left out: ${leftOut.join(", ")}.`;
  return [retry?.lastError, note].filter(text => text !== undefined).join(" ") || undefined;
}
