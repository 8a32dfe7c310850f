import * as z from "zod";
import { presentedDeviceToken } from "../../../lib/auth/sessions/cookies.ts";
import { type LiveSession, sessionRequired } from "../../../lib/auth/sessions/manage-sessions.ts";
import { changePassword as change, setPasswordByToken } from "../../../lib/auth/sign-in/change-password.ts";
import { ok } from "../../../lib/platform/http/call.ts";
import { type CallContext, type Endpoint, endpoint } from "../../../lib/platform/http/endpoint.ts";
import type { AuthContext } from "../context.ts";
import { optionalOtp, optionalText } from "../inputs.ts";
import { deviceHeader } from "./credentials.ts";

const withAnyProof = endpoint({
  routes: ["POST /password", "GET /password"],
  access: "optional_session",
  tag: "Credentials",
  summary: "Change the password",
  description:
    "Sets a new password for the user of the session. Requires the current password, and a new OTP if the user's " +
    "sign-in needs one. All other sessions of the user end.\n\nWithout a session it sets the password of a user who has " +
    "the one-time `code` of a reset, with the `username`, and with an OTP where a sign-in needs one; or of a user whose " +
    "login was answered with `password_change_required`, with the `token` of that answer. Each works once. No session " +
    "is created: sign in with the new password.",
  headers: deviceHeader,
  body: z
    .object({
      newpass: z.string().describe("The new password."),
      oldpass: optionalText("The current password."),
      otp: optionalOtp("An unused OTP, if a login of the user needs one."),
      code: optionalText("The one-time code of a reset, in place of session and current password."),
      username: optionalText("The username; required with `code`."),
      token: optionalText("The token of `password_change_required`, in place of session, current password and OTP."),
    })
    .superRefine(({ code, username }, context) => {
      if (code && !username) context.addIssue({ code: "custom", path: ["username"], message: "is required" });
    }),
  answers: { 200: { description: "Changed.", schema: z.literal(true) } },
  refusals: ["throttled"],
  handle: async (
    { body },
    context: AuthContext,
    { call, address, session }: CallContext & { session?: LiveSession },
  ) => {
    const { newpass, oldpass, otp, code, username = "", token } = body;
    const deviceToken = presentedDeviceToken(call.headers, context.rules.secureCookie);
    const options = { address, deviceToken };
    if (token) await setPasswordByToken({ newpass, token }, context);
    else if (code) await change({ username, passwordCode: code }, { newpass, otp }, context, options);
    else if (session) await change(session, { newpass, oldpass, otp }, context, options);
    else throw sessionRequired();
    return ok(true);
  },
});

/**
 * Changes the password of the session's user (specification section 4, rules 3 and 4), or of a user who has a code or a
 * token (A24). A call with none of them is refused before its fields are looked at.
 */
export const changePassword: Endpoint<AuthContext, LiveSession> = {
  ...withAnyProof,
  run: async (raw, context, identity) => {
    const { code, token } = raw.body as Readonly<Record<string, unknown>>;
    if (identity.session === undefined && !code && !token) throw sessionRequired();
    return withAnyProof.run(raw, context, identity);
  },
};
