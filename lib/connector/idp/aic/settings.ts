import * as z from "zod";
import { endpointUrl, nonEmpty, relyingPartyId, wholeNumber } from "../kind.ts";

const reservedHeaders = ["accept", "accept-api-version", "connection", "content-length", "content-type", "host"];
const header = z
  .string()
  .regex(/^[A-Za-z0-9-]+$/, "must be the name of a header")
  .refine(name => !reservedHeaders.includes(name.toLowerCase()), "is a header that each call already has");

/** Creation options inside a script are not read. */
const optionsCallback = nonEmpty.refine(type => type !== "TextOutputCallback", {
  error: 'must not be TextOutputCallback: switch off "Return challenge as JavaScript" in the WebAuthn node',
});

/**
 * Only the IdP file configures this kind. The defaults of callbacks and inputs are those of a journey that asks for a
 * user name and then for the security key.
 */
export const settings = z.strictObject({
  type: z.literal("aic"),
  "api-base-url": endpointUrl,
  "auth-base-url": endpointUrl,
  realm: z.string().regex(/^\/?[A-Za-z0-9_-]+$/, "must be one realm"),
  journey: nonEmpty,
  "client-id": nonEmpty,
  "default-relying-party": relyingPartyId.optional(),
  scope: nonEmpty.optional(),
  "authentication-header": header.default("Authorization"),
  "callback-1": nonEmpty.default("NameCallback"),
  "callback-2": optionsCallback.default("MetadataCallback"),
  "callback-3": nonEmpty.default("HiddenValueCallback"),
  "token-id-1": nonEmpty.default("IDToken1"),
  "token-id-2": nonEmpty.default("IDToken2"),
  "challenge-timeout-milliseconds": wholeNumber(1000, 31_536_000_000).optional(),
});

export type AicSettings = z.output<typeof settings>;
