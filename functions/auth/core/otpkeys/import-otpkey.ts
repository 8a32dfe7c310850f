import { base32nopad } from "@scure/base";
import * as z from "zod";
import { totpAlgorithms } from "../../../../lib/auth/otp/contract.ts";
import { otpKindNames } from "../../../../lib/auth/otp/kinds.ts";
import { importKey } from "../../../../lib/auth/otpkeys/import-key.ts";
import { assignKey } from "../../../../lib/auth/otpkeys/manage-otpkeys.ts";
import { type Caller, hasRole } from "../../../../lib/caller.ts";
import { Fault } from "../../../../lib/fault.ts";
import { endpoint } from "../../../../lib/http/endpoint.ts";
import { trimEnd } from "../../../../lib/trim-end.ts";
import type { AuthContext } from "../../context.ts";
import {
  optional,
  optionalFlag,
  prefixField,
  toValidity,
  usernameField,
  validityFields,
  wholeNumber,
} from "../../inputs.ts";
import { otpkeyView, toOtpkeyView } from "../../views.ts";

const hex = z
  .string()
  .regex(/^([0-9A-Fa-f]{2})+$/, { error: "must be in hex" })
  .transform(text => new Uint8Array(Buffer.from(text, "hex")));
/** More than the longest secret needs in any notation. */
const base32MaxLength = 400;

/** Base32 of RFC 4648 as people write it: upper or lower case, with or without padding, spaces and dashes (A10). */
const base32 = z
  .string()
  .max(base32MaxLength)
  .transform((text, context) => {
    try {
      const bytes = base32nopad.decode(trimEnd(text.replace(/[\s-]/g, ""), "=").toUpperCase());
      if (bytes.length > 0) return bytes;
    } catch {
      // Do not pass on the decoder's error: it quotes the secret.
    }
    context.addIssue({ code: "custom", message: "must be in Base32" });
    return z.NEVER;
  });

const fields = z.object({
  prefix: prefixField.describe("The prefix of the otpkey."),
  kind: optional(z.enum(otpKindNames)).describe("Kind of the otpkey. Absent: an otpkey without a secret."),
  secret: optional(hex).describe("Secret in hex."),
  secret_base32: optional(base32).describe("Secret of an OATH kind in Base32, instead of `secret`."),
  private_id: optional(hex).describe("Private id of kind `yubico` in hex."),
  digits: optional(wholeNumber({ enum: [6, 7, 8] })).describe(
    "Length of the codes of an OATH kind: 6 (default), 7 or 8.",
  ),
  period: optional(wholeNumber({ enum: [30, 60] })).describe(
    "Length of a time step of kind `totp`: 30 (default) or 60 seconds.",
  ),
  algorithm: optional(z.enum(totpAlgorithms)).describe("Hash function of kind `totp`; default: `SHA1`."),
  counter: optional(wholeNumber({ minimum: 0 })).describe("Smallest counter that is accepted; default: 0."),
  ...validityFields,
  username: optional(usernameField).describe("Name of an existing user to whom the otpkey is assigned."),
  replace: optionalFlag("Whether to replace another secret, or to set the counter of the same one; default: false."),
});

/** Checks which fields are allowed together. Each kind checks its own fields. */
const body = fields.superRefine(({ prefix, ...given }, context) => {
  const refuse = (path: keyof typeof given, message: string) =>
    context.addIssue({ code: "custom", path: [path], message });
  const { valid_from, valid_until, username, kind, ...ofKind } = given;
  if (kind === undefined && Object.values(ofKind).some(value => value !== undefined)) refuse("kind", "is required");
  if (given.secret_base32 === undefined) return;
  if (given.secret !== undefined) refuse("secret_base32", "must not be given together with secret");
  if (given.kind === "yubico" || given.kind === "remote") refuse("secret_base32", "is not for this kind of key");
});

const unknownUsername = (): Fault =>
  new Fault("invalid", "The request is not valid.", {
    problems: [{ path: "username", reason: "is not the name of a user" }],
  });

/** Handles a user who was deleted after the check. The OTP key stays imported, as without a username. */
function toUnknownUsername(error: unknown): never {
  throw error instanceof Fault && error.kind === "not_found" ? unknownUsername() : error;
}

/** Throws Fault `forbidden` for a role below `admin`: another secret would take over an OTP key that is in use. */
function requireRoleToReplace(caller: Caller): void {
  if (hasRole(caller, "admin")) return;
  throw new Fault("forbidden", `The API token has the role ${caller.role}; \`replace\` needs the role admin.`, {
    reason: "no_role",
  });
}

/** Imports an OTP key. The secret is in no response and no log. */
export const importOtpkey = endpoint({
  routes: ["POST /otpkeys"],
  access: "caller",
  role: "import",
  tag: "OTP keys",
  summary: "Import an otpkey with its secret",
  description:
    "Stores the secret of an OTP key, so that its OTPs can be checked. `kind` says how the key makes codes: " +
    "`hotp` (RFC 4226), `totp` (RFC 6238), `yubico` (Yubico OTP), or `remote`, whose codes a validation server " +
    "checks. A repeated call with the same secret responds 200: it sets `digits`, `period` and `algorithm` if given, " +
    "and raises the counter to a higher `counter`. With `replace=true` and `counter` it sets the counter, also to a " +
    "lower value: then used OTPs are accepted again. Another secret for an existing prefix is refused with 409 " +
    "unless `replace=true`. The secret is in no response and in no log. `valid_from` and `valid_until` limit the " +
    "time in which OTPs are accepted; for an existing otpkey only the given limit changes. With `username` the " +
    "otpkey is also assigned to that user; an unknown username is refused with 400, and then nothing is imported. " +
    "An API token of the role `import` changes no limit of an existing otpkey, and assigns no otpkey that another " +
    "user has: 403.",
  body,
  answers: {
    201: { description: "Imported.", schema: otpkeyView },
    200: {
      description:
        "The otpkey exists: the same secret was imported again, or `replace` replaced the secret or set the counter.",
      schema: otpkeyView,
    },
  },
  refusals: ["conflict"],
  handle: async ({ body }, context: AuthContext, { caller }) => {
    const { secret, secret_base32, private_id, replace = false, username, ...rest } = body;
    const isAdmin = hasRole(caller, "admin");
    if (replace) requireRoleToReplace(caller);
    const { valid_from, valid_until, ...draft } = rest;
    const validity = toValidity(rest);
    const owner = username && ({ by: "name", folded: username.folded } as const);
    if (owner !== undefined && (await context.users.find(owner)) === undefined) throw unknownUsername();
    const imported = {
      ...draft,
      secret: secret ?? secret_base32,
      privateId: private_id,
      replace,
      validity,
      mayChangeValidity: isAdmin,
    };
    const { key, isNew } = await importKey(imported, context);
    if (owner !== undefined) {
      await assignKey(owner, key.prefix, context, { onlyIfFree: !isAdmin }).catch(toUnknownUsername);
    }
    const attributes = isNew ? {} : ((await context.otpkeys.view(key.prefix))?.attributes ?? {});
    return { status: isNew ? 201 : 200, body: toOtpkeyView(key, attributes) };
  },
});
