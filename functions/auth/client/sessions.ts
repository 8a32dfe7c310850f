import * as z from "zod";
import {
  clearedSessionCookie,
  deviceCookie,
  readPresented,
  sessionCookie,
} from "../../../lib/auth/sessions/cookies.ts";
import { type LiveSession, rememberDevice } from "../../../lib/auth/sessions/manage-sessions.ts";
import { changeRequired, invalidCredentials } from "../../../lib/auth/sign-in/change-password.ts";
import { signIn } from "../../../lib/auth/sign-in/sign-in.ts";
import { ok } from "../../../lib/platform/http/call.ts";
import { endpoint } from "../../../lib/platform/http/endpoint.ts";
import type { Instant } from "../../../lib/platform/time.ts";
import type { AuthContext } from "../context.ts";
import { deviceHeader, loginFields } from "./credentials.ts";

/**
 * Signs in and creates a session. Ends the session that the request carries, if any (specification sections 3 and 4).
 */
export const login = endpoint({
  routes: ["POST /login", "GET /login"],
  access: "open",
  tag: "Sessions",
  summary: "Sign in and create a session",
  description:
    "Signs the user in with password, OTP or both, as the deployment requires. A user with an OTP key needs an " +
    "OTP. The session is returned in the body, for programs, which send it as `X-Service-Session`, and as a " +
    "cookie, for browsers. Ends the session that the request carries, if any.\n\nWith `remember_device=true` the " +
    "response also has a device token, in the body and as a cookie. Send it with the next login, as " +
    "`X-Service-Device` or as the cookie: its failures are counted apart, so that callers who guess passwords do not " +
    "lock this device out. It ends with every change of the user's credentials.\n\nIf all credentials are right, but " +
    "the user must change the password first, the answer is 401 with the `reason` `password_change_required`, and a " +
    "`token` for `POST /password` that sets the new one. The OTP is used up.",
  headers: deviceHeader,
  body: loginFields,
  answers: {
    200: {
      description: "The session. The response also sets it as a cookie.",
      headers: ["set-cookie"],
      schema: z
        .object({
          session: z.string().describe("The session, for `X-Service-Session`."),
          device: z.string().optional().describe("The device token, if `remember_device` is true."),
        })
        .meta({ id: "Session" }),
    },
  },
  refusals: ["unauthenticated", "throttled"],
  handle: async ({ body }, context: AuthContext, { call, address }) => {
    const { secureCookie, deviceMs } = context.rules;
    const deviceToken = readPresented("Device", call.headers, secureCookie);
    const result = await signIn(body, context, {
      address,
      deviceToken,
      newSession: { replaces: readPresented("Session", call.headers, secureCookie) },
    });
    if (!result.granted && result.mustChange) throw await changeRequired(result.mustChange, context);
    if (!result.granted || result.session === undefined) throw invalidCredentials();
    const { session } = result;
    const device = body.remember_device ? await rememberDevice(result.user.value, deviceToken, context) : undefined;
    const cookies = [
      sessionCookie(session, secureCookie),
      ...(device === undefined ? [] : [deviceCookie(device, secureCookie, deviceMs)]),
    ];
    return { status: 200, body: { session, device }, cookies };
  },
});

const statusBody = z
  .object({
    username: z.string().describe("The username as it was created."),
    user_id: z.int().min(1).describe("The numeric id of the user."),
    prefix: z.string().nullable().describe("Prefix of the otpkey whose OTP was used at the login, or null."),
    _accessed_time: z.number().describe("Time of this request in Unix seconds."),
    _creation_time: z.number().describe("Time of the login in Unix seconds."),
  })
  .meta({ id: "SessionStatus" });

/** Returns Unix seconds with a fraction. */
const unixSeconds = (time: Instant): number => Date.parse(time) / 1000;

/** Returns the session (specification sections 2 and 4). */
export const getStatus = endpoint({
  routes: ["GET /status", "POST /status"],
  access: "session",
  tag: "Sessions",
  summary: "Inspect the session",
  description:
    "Returns the user of the session and the times of the sign-in and of this call. The call extends the session.",
  answers: { 200: { description: "The session.", schema: statusBody } },
  handle: async (_, context: AuthContext, { session: { session, user } }: { session: LiveSession }) => {
    return ok({
      username: user.value.name,
      user_id: user.value.id,
      prefix: session.value.prefix ?? null,
      _accessed_time: unixSeconds(context.now()),
      _creation_time: unixSeconds(session.value.createdAt),
    });
  },
});

/** Ends the session (specification sections 3 and 4). */
export const logout = endpoint({
  routes: ["POST /logout", "GET /logout"],
  access: "session_without_refresh",
  tag: "Sessions",
  summary: "End the session",
  description: "Ends the session and deletes the cookie.",
  answers: { 200: { description: "The session has ended.", headers: ["set-cookie"], schema: z.literal(true) } },
  handle: async (_, { sessions, rules }: AuthContext, { session }: { session: LiveSession }) => {
    await sessions.end(session.key);
    return { status: 200, body: true, cookies: [clearedSessionCookie(rules.secureCookie)] };
  },
});
