import * as z from "zod";
import { changePassword as change } from "../../../lib/auth/password-change/change-password.ts";
import { presentedDeviceToken } from "../../../lib/auth/sessions/cookies.ts";
import type { LiveSession } from "../../../lib/auth/sessions/manage-sessions.ts";
import { ok } from "../../../lib/platform/http/call.ts";
import { type CallContext, endpoint } from "../../../lib/platform/http/endpoint.ts";
import type { AuthContext } from "../context.ts";
import { optionalOtp, optionalText } from "../inputs.ts";
import { deviceHeader } from "./credentials.ts";

/** Changes the password of the session's user (specification section 4, rules 3 and 4). */
export const changePassword = endpoint({
  routes: ["POST /password", "GET /password"],
  access: "session",
  tag: "Credentials",
  summary: "Change the password of the session's user",
  description:
    "Sets a new password for the user of the session. Requires the current password, and a new OTP if the user's " +
    "sign-in needs one. All other sessions of the user end.",
  headers: deviceHeader,
  body: z.object({
    newpass: z.string().describe("The new password."),
    oldpass: optionalText("The current password."),
    otp: optionalOtp("An unused OTP, if a login of the user needs one."),
  }),
  answers: { 200: { description: "Changed.", schema: z.literal(true) } },
  refusals: ["throttled"],
  handle: async ({ body }, context: AuthContext, { call, session }: CallContext & { session: LiveSession }) => {
    const deviceToken = presentedDeviceToken(call.headers, context.rules.secureCookie);
    await change(session, body, context, { address: context.callerAddress(call), deviceToken });
    return ok(true);
  },
});
