import type { PinMail } from "./request.ts";

/** Returns whether PIN mails may go to the address (decision C14). @param domains lower case; empty allows any */
export function isMailable(email: string, domains: readonly string[]): boolean {
  return domains.length === 0 || domains.includes(email.slice(email.lastIndexOf("@") + 1).toLowerCase());
}

/** Returns what a read shows of a PIN mail: why it was not sent, and the addresses that it left out (decision C14). */
export function pinMailMessage({ errorMessage, leftOut = [] }: PinMail): string | undefined {
  const note =
    leftOut.length === 0 ? undefined : `Not in a domain that PIN mails may go to, and left out: ${leftOut.join(", ")}.`;
  return [errorMessage, note].filter(text => text !== undefined).join(" ") || undefined;
}
