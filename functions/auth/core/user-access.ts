import * as z from "zod";
import { validateUser as validate } from "../../../lib/auth/sign-in/validate-user.ts";
import { passwordProblems } from "../../../lib/auth/users/manage-users.ts";
import * as access from "../../../lib/auth/users/user-access.ts";
import { readLock } from "../../../lib/auth/users/view-user.ts";
import { omitUndefined } from "../../../lib/platform/collections.ts";
import { noContent, ok } from "../../../lib/platform/http/call.ts";
import { endpoint } from "../../../lib/platform/http/endpoint.ts";
import type { AuthContext } from "../context.ts";
import { mustChangeField, ofUser, optionalFlag, optionalOtp, optionalText } from "../inputs.ts";
import { lastRefusal, noContentAfter, toLastRefusal } from "../views.ts";

const issued = z.lazy(() =>
  z
    .object({
      code: z.string().describe("What the user types in place of the old password. It is shown only once."),
      valid_until: z.iso.datetime().describe("The code is accepted before this time."),
    })
    .meta({ id: "PasswordCode" }),
);

export const resetPassword = endpoint({
  ...ofUser,
  routes: ["POST /users/{user}/reset"],
  role: "admin",
  summary: "Set a user's password and end the user's sessions",
  description:
    "Sets a new password without the current one, and ends the user's sessions and the lock of the username. An empty " +
    "password means that the user cannot sign in with a password. With `must_change` the user has to change it before the next session." +
    "\n\nWith `issue_code` and without a password, the old password ends, and the answer is a one-time code, with " +
    "which the user sets a password that no one else knows: `POST /client/password` with `username`, `code` and " +
    "`newpass`, and an OTP where a sign-in needs one. The code is accepted once, for an hour and five tries. Another " +
    "reset replaces it; disabling or deleting the user ends it. The service keeps a keyed hash.",
  body: z.lazy(() =>
    z.object({
      password: z
        .string()
        .optional()
        .meta({ description: "The new password. An empty one means no password. Required without `issue_code`." }),
      must_change: mustChangeField,
      issue_code: optionalFlag("Whether to issue a one-time code in place of a password; default: false."),
    }),
  ),
  check: async ({ password, must_change: mustChange, issue_code }, { rules }: AuthContext, { isWrong }) => {
    const refused = (path: string) => ({ path, reason: "must be absent with issue_code" });
    if (issue_code)
      return [
        ...(password === undefined ? [] : [refused("password")]),
        ...(mustChange ? [refused("must_change")] : []),
      ];
    if (isWrong("issue_code")) return [];
    if (password === undefined) return [{ path: "password", reason: "is required" }];
    return passwordProblems({ password, mustChange }, rules);
  },
  answers: { 201: { description: "The code.", schema: issued }, 204: { description: "Done." } },
  handle: async ({ params, body: { password = "", must_change: mustChange, issue_code } }, context: AuthContext) => {
    if (issue_code) {
      const { code, validUntil } = await access.issuePasswordCode(params.user, context);
      return { status: 201, body: { code, valid_until: validUntil } };
    }
    await access.resetPassword(params.user, { password, ...(mustChange && { mustChange }) }, context);
    return noContent;
  },
});

export const validateUser = endpoint({
  ...ofUser,
  routes: ["POST /users/{user}/validate", "GET /users/{user}/validate"],
  role: "admin",
  summary: "Check a password and an OTP of a user separately",
  description:
    "Reports separately whether the password and the OTP belong to the user. A valid OTP is used up. No session " +
    "is created, and failed checks are not counted against the user. Does not tell whether the user is disabled.",
  body: z.lazy(() => z.object({ password: optionalText("A password."), otp: optionalOtp("An OTP. It is used up.") })),
  answers: {
    200: {
      description: "The result for each; false for one that was not given.",
      schema: z.lazy(() =>
        z.object({ valid_password: z.boolean(), valid_otp: z.boolean() }).meta({ id: "ValidationResult" }),
      ),
    },
  },
  handle: async ({ params, body }, context: AuthContext) => {
    const { validPassword, validOtp } = await validate(params.user, body, context);
    return ok({ valid_password: validPassword, valid_otp: validOtp });
  },
});

export const disableUser = endpoint({
  ...ofUser,
  routes: ["POST /users/{user}/disable"],
  role: "support",
  summary: "Disable a user",
  description:
    "Signs the user out everywhere and refuses every sign-in, with the answer to a wrong password. Device tokens end " +
    "too. Password, attributes and OTP keys stay.",
  answers: { 204: { description: "Done." } },
  handle: ({ params }, context: AuthContext) => noContentAfter(access.setUserEnabled(params.user, false, context)),
});

export const enableUser = endpoint({
  ...ofUser,
  routes: ["POST /users/{user}/enable"],
  role: "support",
  summary: "Enable a user",
  description: "The user can sign in again, with the same password and OTP keys. A lock of the username stays.",
  answers: { 204: { description: "Done." } },
  handle: ({ params }, context: AuthContext) => noContentAfter(access.setUserEnabled(params.user, true, context)),
});

export const endSessions = endpoint({
  ...ofUser,
  routes: ["POST /users/{user}/sessions/delete"],
  role: "support",
  summary: "End all sessions of a user",
  description:
    "Signs the user out everywhere, and ends the device tokens. The user can sign in again at once; to prevent that, " +
    "disable the user or set a new password.",
  answers: { 204: { description: "Done." } },
  handle: ({ params }, context: AuthContext) => noContentAfter(access.endSessions(params.user, context)),
});

const lock = z.lazy(() =>
  z
    .object({
      failures: z.int().min(0).describe("Number of failed sign-ins since the last successful one."),
      locked_until: z.iso.datetime().nullable().describe("Time until which every sign-in is refused, or null."),
      running_attempts: z.int().min(0).describe("Number of sign-ins that have not ended."),
      last_refusal: lastRefusal.optional(),
    })
    .meta({ id: "Lock" }),
);

export const getLock = endpoint({
  ...ofUser,
  routes: ["GET /users/{user}/lock"],
  role: "read",
  summary: "View the lock of a username",
  description:
    "Returns how often sign-ins with the username have failed, and until when the username is locked. Also accepts " +
    "an unknown username, because that can be locked too. `unlock` ends the lock.",
  answers: { 200: { description: "The failed and the running attempts.", schema: lock } },
  handle: async ({ params }, context: AuthContext, { caller }) => {
    const { failures, lockedUntil, runningAttempts, lastRefusal: last } = await readLock(params.user, context);
    return ok({
      failures,
      locked_until: lockedUntil ?? null,
      running_attempts: runningAttempts,
      ...omitUndefined({ last_refusal: toLastRefusal(last, caller) }),
    });
  },
});

export const unlockUser = endpoint({
  ...ofUser,
  routes: ["POST /users/{user}/unlock"],
  role: "support",
  summary: "End the lock of a username",
  description:
    "Several failed sign-ins lock a username for a while. This call ends the lock, and clears the failed sign-ins. It " +
    "also accepts a username that no user has, because such a name can be locked too.",
  answers: { 204: { description: "Done." } },
  handle: ({ params }, context: AuthContext) => noContentAfter(access.unlockUser(params.user, context)),
});
