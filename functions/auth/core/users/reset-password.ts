import * as z from "zod";
import { issuePasswordCode, resetPassword as reset } from "../../../../lib/auth/users/manage-users.ts";
import { noContent } from "../../../../lib/platform/http/call.ts";
import { endpoint } from "../../../../lib/platform/http/endpoint.ts";
import type { AuthContext } from "../../context.ts";
import { mustChangeField, optionalFlag, userParams } from "../../inputs.ts";

const issued = z
  .object({
    code: z.string().describe("What the user types in place of the old password. It is shown only once."),
    valid_until: z.iso.datetime().describe("The code is accepted before this time."),
  })
  .meta({ id: "PasswordCode" });

/** Sets a user's password and ends the user's sessions (specification section 4), or issues a code for it (A24). */
export const resetPassword = endpoint({
  routes: ["POST /users/{user}/reset"],
  access: "caller",
  role: "admin",
  tag: "Users",
  summary: "Set a user's password and end the user's sessions",
  description:
    "Sets a new password without the current one, and ends the sessions of the user. An empty password means that " +
    "the user cannot sign in with a password. With `must_change` the user has to change it before the next session." +
    "\n\nWith `issue_code` and without a password, the old password ends, and the answer is a one-time code, with " +
    "which the user sets a password that no one else knows: `POST /client/password` with `username`, `code` and " +
    "`newpass`, and an OTP where a sign-in needs one. The code is accepted once, for an hour and five tries. Another " +
    "reset replaces it; disabling or deleting the user ends it. The service keeps a keyed hash.",
  params: userParams,
  body: z
    .object({
      password: z
        .string()
        .optional()
        .meta({ description: "The new password. An empty one means no password. Required without `issue_code`." }),
      must_change: mustChangeField,
      issue_code: optionalFlag("Whether to issue a one-time code in place of a password; default: false."),
    })
    .superRefine(({ password, must_change, issue_code }, context) => {
      const fail = (name: string, message: string) => context.addIssue({ code: "custom", path: [name], message });
      if (!issue_code && password === undefined) fail("password", "is required");
      if (issue_code && password !== undefined) fail("password", "must be absent with issue_code");
      if (issue_code && must_change) fail("must_change", "must be absent with issue_code");
    }),
  answers: { 201: { description: "The code.", schema: issued }, 204: { description: "Changed." } },
  handle: async ({ params, body: { password = "", must_change: mustChange, issue_code } }, context: AuthContext) => {
    if (issue_code) {
      const { code, validUntil } = await issuePasswordCode(params.user, context);
      return { status: 201, body: { code, valid_until: validUntil } };
    }
    await reset(params.user, { password, ...(mustChange && { mustChange }) }, context);
    return noContent;
  },
});
