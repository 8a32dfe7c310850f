import * as z from "zod";
import {
  deviceCookie,
  presentedDeviceToken,
  presentedSession,
  sessionCookie,
} from "../../../lib/auth/sessions/cookies.ts";
import { rememberDevice } from "../../../lib/auth/sessions/manage-sessions.ts";
import { changeRequired, invalidCredentials } from "../../../lib/auth/sign-in/change-password.ts";
import { signIn } from "../../../lib/auth/sign-in/sign-in.ts";
import { endpoint } from "../../../lib/platform/http/endpoint.ts";
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
    const deviceToken = presentedDeviceToken(call.headers, secureCookie);
    const result = await signIn(body, context, {
      address,
      deviceToken,
      newSession: { replaces: presentedSession(call.headers, secureCookie) },
    });
    if (!result.granted && result.mustChange) throw await changeRequired(result.mustChange, context);
    if (!result.granted || result.session === undefined) throw invalidCredentials();
    const { session } = result;
    const cookies = [sessionCookie(session, secureCookie)];
    const device = body.remember_device ? await rememberDevice(result.user.value, deviceToken, context) : undefined;
    if (device === undefined) return { status: 200, body: { session }, cookies };
    return {
      status: 200,
      body: { session, device },
      cookies: [...cookies, deviceCookie(device, secureCookie, deviceMs)],
    };
  },
});
