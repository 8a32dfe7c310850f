import * as z from "zod";
import { endpointUrl, nonEmpty, wholeNumber, withVariable } from "../kind.ts";
import { relyingPartyId } from "../relying-party-id.ts";

const reservedHeaders = ["accept", "accept-api-version", "connection", "content-length", "content-type", "host"];
const header = z
  .string()
  .regex(/^[A-Za-z0-9-]+$/, "must be the name of a header")
  .refine(name => !reservedHeaders.includes(name.toLowerCase()), "is a header that each call already has");

/** Creation options inside a script are not read. */
const optionsCallback = nonEmpty.refine(type => type !== "TextOutputCallback", {
  error: 'must not be TextOutputCallback: switch off "Return challenge as JavaScript" in the WebAuthn node',
});

/** The defaults of callbacks and inputs are those of a journey that asks for a user name and then for the security key. */
export const settings = z.strictObject({
  type: z.literal("aic"),
  "api-base-url": withVariable(endpointUrl, {
    name: "IDPC_API_BASE_URL",
    description: "the tenant, or the address of its AM if that is not `/am`.",
  }),
  "auth-base-url": withVariable(endpointUrl, {
    name: "IDPC_AUTH_BASE_URL",
    description: "address that issues access tokens, in the same form.",
  }),
  realm: withVariable(z.string().regex(/^\/?[A-Za-z0-9_-]+$/, "must be one realm"), {
    name: "IDPC_REALM",
    description: "realm of users and journey.",
  }),
  journey: withVariable(nonEmpty, { name: "IDPC_JOURNEY", description: "journey that registers a security key." }),
  "client-id": withVariable(nonEmpty, {
    name: "IDPC_CLIENT_ID",
    description: "application that may call the journey.",
  }),
  "default-relying-party": withVariable(relyingPartyId.optional(), {
    name: "IDPC_DEFAULT_RELYING_PARTY",
    description: "relying party of the journey's WebAuthn node; by default the host of `IDPC_API_BASE_URL`.",
  }),
  scope: withVariable(nonEmpty.optional(), { name: "IDPC_SCOPE", description: "scope of its access tokens." }),
  "authentication-header": withVariable(header.default("Authorization"), {
    name: "IDPC_AUTHENTICATION_HEADER",
    description: "header in which the journey expects the access token.",
  }),
  "callback-1": withVariable(nonEmpty.default("NameCallback"), {
    name: "IDPC_CALLBACK_1",
    description: "callback for the user id.",
  }),
  "callback-2": withVariable(optionsCallback.default("MetadataCallback"), {
    name: "IDPC_CALLBACK_2",
    description: "callback that has the creation options.",
  }),
  "callback-3": withVariable(nonEmpty.default("HiddenValueCallback"), {
    name: "IDPC_CALLBACK_3",
    description: "callback for the new credential.",
  }),
  "token-id-1": withVariable(nonEmpty.default("IDToken1"), {
    name: "IDPC_TOKEN_ID_1",
    description: "input of the user id.",
  }),
  "token-id-2": withVariable(nonEmpty.default("IDToken2"), {
    name: "IDPC_TOKEN_ID_2",
    description: "input of the new credential.",
  }),
  "challenge-timeout-milliseconds": withVariable(wholeNumber(1000, 31_536_000_000).optional(), {
    name: "IDPC_CHALLENGE_TIMEOUT_MILLISECONDS",
    description: "how long a challenge is valid, if the journey does not end earlier.",
  }),
});

export type AicSettings = z.output<typeof settings>;
