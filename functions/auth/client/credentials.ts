import * as z from "zod";
import { readOtp } from "../../../lib/auth/otpkeys/kinds/split-otp.ts";
import { type LiveSession, sessionRequired } from "../../../lib/auth/sessions/manage-sessions.ts";
import { assignOwnKey } from "../../../lib/auth/sign-in/assign-own-key.ts";
import {
  changePassword as change,
  changeRequired,
  setPasswordByToken,
} from "../../../lib/auth/sign-in/change-password.ts";
import { signIn } from "../../../lib/auth/sign-in/sign-in.ts";
import { ok } from "../../../lib/platform/http/call.ts";
import { type CallContext, type Endpoint, endpoint } from "../../../lib/platform/http/endpoint.ts";
import type { AuthContext } from "../context.ts";
import { deviceHeader, optionalOtp, optionalText, signInCredentials } from "../inputs.ts";
import { readPresented } from "./sessions.ts";

/** Checks credentials without creating a session. Both results are 200 (specification section 4). */
export const authenticate = endpoint({
  routes: ["POST /authenticate", "GET /authenticate"],
  access: "open",
  tag: "Credentials",
  summary: "Check whether credentials are valid and sufficient",
  description:
    "Answers whether the credentials would sign the user in, without creating a session. Both results are 200: " +
    "`true` or `false`. A user with an OTP key needs an OTP, and the OTP is used up. Wrong credentials count " +
    "toward the wait for the username. A user who must change the password first gets 401 with the `reason` " +
    "`password_change_required`, as at `login`.",
  headers: deviceHeader,
  body: signInCredentials,
  answers: { 200: { description: "True if they are valid and sufficient.", schema: z.boolean() } },
  refusals: ["unauthenticated", "throttled"],
  handle: async ({ body }, context: AuthContext, { call, address }) => {
    const deviceToken = readPresented("Device", call.headers, context.rules.secureCookie);
    const { user, mustChange } = await signIn(body, context, { address, deviceToken });
    if (mustChange) throw await changeRequired(mustChange, context);
    return ok(user !== undefined);
  },
});

const passwordEndpoint = endpoint({
  routes: ["POST /password", "GET /password"],
  access: "optional_session",
  tag: "Credentials",
  summary: "Change the password",
  description:
    "Sets a new password for the user of the session. Requires the current password, and a new OTP if the user's " +
    "sign-in needs one. All other sessions of the user end.\n\nWith `code` or `token` a session is ignored. A `code` sets the password of a user who has " +
    "the one-time `code` of a reset, with the `username`, and with an OTP where a sign-in needs one; or of a user whose " +
    "login was answered with `password_change_required`, with the `token` of that answer. Each works once. No session " +
    "is created: sign in with the new password.",
  headers: deviceHeader,
  body: z.lazy(() =>
    z
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
  ),
  answers: { 200: { description: "Changed.", schema: z.literal(true) } },
  refusals: ["throttled"],
  handle: async (
    { body },
    context: AuthContext,
    { call, address, session }: CallContext & { session?: LiveSession },
  ) => {
    const { newpass, oldpass, otp, code, username = "", token } = body;
    const deviceToken = readPresented("Device", call.headers, context.rules.secureCookie);
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
 * token (A24). A call with none of them gets 401 before its fields are validated.
 */
export const changePassword: Endpoint<AuthContext, LiveSession> = {
  ...passwordEndpoint,
  run: async (raw, context, identity) => {
    const { code, token } = raw.body as Readonly<Record<string, unknown>>;
    if (identity.session === undefined && !code && !token) throw sessionRequired();
    return passwordEndpoint.run(raw, context, identity);
  },
};

/** Assigns an unassigned OTP key to the session's user (A22). */
export const assignOwnOtpkey = endpoint({
  routes: ["POST /otpkeys"],
  access: "session",
  tag: "Credentials",
  summary: "Assign an otpkey to the session's user",
  description:
    "Assigns the otpkey of the OTP to the user of the session, if it is assigned to no user. Requires the user's " +
    "password. Wrong credentials count toward the wait for the username. Responds 403 unless the deployment allows " +
    "it (`AUTH_SELF_ASSIGN`).",
  body: z.lazy(() =>
    z.object({
      password: z.string().min(1).describe("The user's password."),
      otp: z.string().min(1).transform(readOtp).describe("An unused OTP of the otpkey."),
    }),
  ),
  answers: {
    200: {
      description: "The otpkey is assigned.",
      schema: z.lazy(() =>
        z.object({ prefix: z.string().describe("Prefix of the otpkey.") }).meta({ id: "AssignedOtpKey" }),
      ),
    },
  },
  refusals: ["throttled", "conflict"],
  handle: async ({ body }, context: AuthContext, { address, session }: CallContext & { session: LiveSession }) =>
    ok({ prefix: await assignOwnKey(session, body, context, { address }) }),
});
