import * as z from "zod";

/** The maximum length of a domain name in characters (RFC 1035 section 2.3.4). */
export const longestRelyingPartyId = 253;

/** The relying party id in an IdP's creation options. It is stored and shown. */
export const relyingPartyId = z.string().min(1).max(longestRelyingPartyId);
