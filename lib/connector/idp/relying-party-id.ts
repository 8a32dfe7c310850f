import * as z from "zod";

/** The maximum length of a domain name in characters (RFC 1035 section 2.3.4). */
const longestDomain = 253;

/** Labels of letters, digits and inner hyphens (RFC 1123 section 2.1). A number at the end is an IP address. */
const labels = /^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)*(?!\d+$)[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

/**
 * A relying party id: a domain in the form in which browsers compare and hash it, that is ASCII (IDNA) in lower case,
 * without scheme, port and path (WebAuthn Level 3 section 4). The key maker computes the origin from it.
 */
export const relyingPartyId = z
  .string()
  .refine(isDomain, "must be a domain in lower case, without scheme, port and path; the relying party is no domain");

function isDomain(text: string): boolean {
  if (text.length > longestDomain || !labels.test(text)) return false;
  // The parser recognises IP addresses in every spelling, such as 0x7f.
  return URL.parse(`https://${text}`)?.hostname === text;
}
