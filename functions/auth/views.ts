import * as z from "zod";
import type { Attributes } from "../../lib/auth/attributes/attributes.ts";
import { importedSchemes } from "../../lib/auth/passwords/imported-hash.ts";
import { usableCode } from "../../lib/auth/passwords/password-code.ts";
import type { Lock } from "../../lib/auth/sign-in/throttle.ts";
import type { OtpKey, UserView } from "../../lib/auth/store.ts";
import { type Caller, hasRole } from "../../lib/platform/caller.ts";
import { omitUndefined } from "../../lib/platform/collections.ts";
import { noContent, type Reply } from "../../lib/platform/http/call.ts";
import type { Instant } from "../../lib/platform/time.ts";

/** Returns the response without a body to a change, after it. */
export const noContentAfter = async (change: Promise<unknown>): Promise<Reply> => {
  await change;
  return noContent;
};

const id = z.lazy(() => z.int().min(1).describe("Unique number, which never changes."));
const name = z.lazy(() => z.string().describe("Unique username."));
const prefix = z.lazy(() => z.string().describe("Unique prefix of the OTP key, with which each of its OTPs begins."));
const enabled = z.boolean().describe("Whether OTPs of the OTP key are accepted.");

const time = (description: string) => z.iso.datetime().optional().describe(description);

export const attributesView = z.lazy(() =>
  z.record(z.string(), z.string()).meta({ id: "Attributes", description: "Values of attributes by their keys." }),
);
/** The last refused sign-in (A12). */
export const lastRefusal = z.lazy(() =>
  z
    .object({
      at: z.iso.datetime(),
      reason: z
        .string()
        .describe(
          "`wrong_password`, `wrong_code` (of a reset), `wrong_otp`, `no_otp`, `must_change` (all was right), `no_password`, " +
            "`disabled`, `imported_password_ended` (see `IMPORTED_HASHES_UNTIL`), or `unknown_user`. Without the role " +
            "`support`, the first five are `wrong_credentials`.",
        ),
      otp_outcome: z
        .string()
        .optional()
        .describe(
          "Why the OTP was wrong: `invalid`, `replayed` (used before), `out_of_step` (the next OTP is accepted), `disabled`, " +
            "`stopped`, `not_yet_valid` or `expired` (the OTP key), `code_expired` or `code_used_up` (its temporary code), " +
            "`unknown_key`, `not_assigned` or `valid` (the user does not have the OTP key). Only with `wrong_otp`.",
        ),
      otpkey: prefix.optional().describe("Prefix of the OTP key that the wrong OTP belongs to, if there is one."),
    })
    .meta({
      id: "LastRefusal",
      description:
        "The last sign-in that was checked and refused. Absent if there was none for a day, or since `unlock`.",
    }),
);
/** Reasons that say together whether the password was right. */
const ofCredentials = new Set(["wrong_password", "wrong_code", "wrong_otp", "no_otp", "must_change"]);
/**
 * Returns the last refused sign-in as a caller may see it: a role that only reads must not learn whether a guess was
 * right.
 */
export const toLastRefusal = (last: Lock["lastRefusal"], caller: Caller): z.output<typeof lastRefusal> | undefined => {
  if (last === undefined) return undefined;
  const { at, reason, otpOutcome, prefix: otpkey } = last;
  if (ofCredentials.has(reason) && !hasRole(caller, "support")) return { at, reason: "wrong_credentials" };
  return omitUndefined({ at, reason, otp_outcome: otpOutcome, otpkey });
};

export const userSummary = z.lazy(() => z.object({ id, name }).meta({ id: "UserSummary" }));
export const userView = z.lazy(() =>
  z
    .object({
      attributes: attributesView,
      otpkeys: z.array(z.string()).describe("Prefixes of the assigned OTP keys."),
      id,
      name,
      enabled: z.boolean().describe("False if the user is disabled: every sign-in is refused."),
      password: z
        .object({ imported: z.enum(importedSchemes).describe("How the other server hashed it.") })
        .optional()
        .describe("Present until the first sign-in with a password whose hash was imported."),
      last_login: time("Time of the last sign-in that was granted. Absent if there was none."),
      last_refusal: lastRefusal.optional(),
      locked_until: time("Time until which every sign-in with the username is refused. Absent if none is."),
      must_change: z
        .literal(true)
        .optional()
        .describe("Present if the user must change the password before the next session."),
      code_valid_until: time("Time until which the one-time code of a reset is accepted. Absent if there is none."),
    })
    .meta({ id: "User" }),
);

interface Viewer {
  readonly caller: Caller;
  readonly now: Instant;
}

/** Returns the view of a user as a caller may see it (specification section 4): without hashes and epoch. */
export const toUserView = (
  { attributes, otpkeys, id, name, enabled, password, passwordCode, lastLogin }: UserView,
  lock: Lock,
  { caller, now }: Viewer,
): z.output<typeof userView> => ({
  attributes,
  otpkeys: [...otpkeys],
  id,
  name,
  enabled,
  ...omitUndefined({
    password: password?.imported && { imported: password.imported.scheme },
    last_login: lastLogin,
    last_refusal: toLastRefusal(lock.lastRefusal, caller),
    locked_until: lock.lockedUntil,
    must_change: password?.mustChange,
    code_valid_until: usableCode(passwordCode, now)?.validUntil,
  }),
});

export const otpkeyView = z.lazy(() =>
  z
    .object({
      attributes: attributesView,
      prefix,
      enabled,
      id,
      users: z
        .array(userSummary)
        .optional()
        .describe("Users who have the otpkey, at most ten; `GET /users?otpkey=` lists all. Absent if there is none."),
      stopped: z
        .literal(true)
        .optional()
        .describe("Present if wrong OTPs stopped the otpkey. Enabling it again starts it."),
      stopped_since: time("Time at which the otpkey was stopped. Absent if it is not stopped."),
      failures: z
        .int()
        .min(1)
        .optional()
        .describe("Number of wrong OTPs since the last valid one. Absent if 0, and without the role `support`."),
      last_used: time("Time of the last valid OTP. Absent if there was none."),
      valid_from: time("OTPs are accepted from this time on. Absent if there is no such limit."),
      valid_until: time("OTPs are accepted before this time. Absent if there is no such limit."),
      temporary_code: z
        .object({ uses_left: z.int().min(0), valid_until: z.iso.datetime() })
        .optional()
        .describe(
          "Present if a temporary code was issued for the otpkey, also after its expiry, with `uses_left` 0. Enabling " +
            "the otpkey removes it.",
        ),
    })
    .meta({ id: "OtpKey" }),
);
export const otpkeySummary = z.lazy(() => z.object({ id, prefix, enabled }).meta({ id: "OtpKeySummary" }));

/**
 * Returns the view of an OTP key as a caller may see it (specification section 4). Wrong OTPs count only after the
 * right password, so the count too would tell a role that only reads whether a guess was right.
 */
export const toOtpkeyView = (
  { prefix, enabled, id, stopped, stoppedAt, failures, lastUsed, validFrom, validUntil, temporaryCode: code }: OtpKey,
  attributes: Attributes,
  { caller, now }: Viewer,
): z.output<typeof otpkeyView> => ({
  attributes,
  prefix,
  enabled,
  id,
  ...omitUndefined({
    stopped: stopped || undefined,
    stopped_since: stoppedAt,
    failures: failures > 0 && hasRole(caller, "support") ? failures : undefined,
    last_used: lastUsed,
    valid_from: validFrom,
    valid_until: validUntil,
    temporary_code: code && {
      uses_left: code.hash === undefined || now >= code.validUntil ? 0 : code.usesLeft,
      valid_until: code.validUntil,
    },
  }),
});
