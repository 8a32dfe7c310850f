import * as z from "zod";

/** Characters of the longest domain name (RFC 1035 section 2.3.4). */
export const longestRelyingPartyId = 253;

/** The relying party id of an IdP's creation options: it is stored and shown. */
export const relyingPartyId = z.string().min(1).max(longestRelyingPartyId);
