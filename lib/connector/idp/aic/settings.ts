import { type SettingValues, settingsSchema } from "../../../platform/settings/read-settings.ts";
import { setting } from "../../../platform/settings/setting.ts";
import { endpointUrl, nonEmpty, relyingPartyId } from "../kind.ts";

const reservedHeaders = ["accept", "accept-api-version", "connection", "content-length", "content-type", "host"];
const header = setting
  .text("")
  .refine(name => /^[A-Za-z0-9-]+$/.test(name), "must be the name of a header")
  .refine(name => !reservedHeaders.includes(name.toLowerCase()), "is a header that each call already has");

/** Creation options inside a script are not read. */
const optionsCallback = nonEmpty.refine(
  type => type !== "TextOutputCallback",
  'must not be TextOutputCallback: switch off "Return challenge as JavaScript" in the WebAuthn node',
);

/**
 * Only the IdP file configures this kind. The defaults of callbacks and inputs are those of a journey that asks for a
 * user name and then for the security key.
 */
export const settings = settingsSchema({
  "api-base-url": endpointUrl,
  "auth-base-url": endpointUrl,
  realm: setting.text("").refine(text => /^\/?[A-Za-z0-9_-]+$/.test(text), "must be one realm"),
  journey: nonEmpty,
  "client-id": nonEmpty,
  "default-relying-party": relyingPartyId.optional(),
  scope: nonEmpty.optional(),
  "authentication-header": header.withDefault("Authorization"),
  "callback-1": nonEmpty.withDefault("NameCallback"),
  "callback-2": optionsCallback.withDefault("MetadataCallback"),
  "callback-3": nonEmpty.withDefault("HiddenValueCallback"),
  "token-id-1": nonEmpty.withDefault("IDToken1"),
  "token-id-2": nonEmpty.withDefault("IDToken2"),
  "challenge-timeout-milliseconds": setting.integer(1000, 31_536_000_000, "").optional(),
});

export type AicSettings = { readonly type: "aic" } & SettingValues<(typeof settings)["shape"]>;
