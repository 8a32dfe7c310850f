import * as z from "zod";
import { createUserSession, endSession } from "../../../lib/auth/sessions/manage-sessions.ts";
import { presentedSession, sessionCookie } from "../../../lib/auth/sessions/session-cookie.ts";
import { signIn } from "../../../lib/auth/sign-in/sign-in.ts";
import { Fault } from "../../../lib/fault.ts";
import { endpoint } from "../../../lib/http/endpoint.ts";
import type { AuthContext } from "../context.ts";
import { credentials } from "./credentials.ts";

/** Signs in and creates a session. Ends the session that the request carries, if any (specification sections 3 and 4). */
export const login = endpoint({
  routes: ["POST /login", "GET /login"],
  access: "open",
  tag: "Sessions",
  summary: "Sign in and create a session",
  description:
    "Signs the user in with password, OTP or both, as the deployment requires. A user with an OTP key needs an " +
    "OTP. The session is returned in the body, for programs, which send it as `X-Service-Session`, and as a " +
    "cookie, for browsers. Ends the session that the request carries, if any.",
  body: credentials,
  answers: {
    200: {
      description: "The session. The response also sets it as a cookie.",
      headers: ["set-cookie"],
      schema: z.object({ session: z.string() }).meta({ id: "Session" }),
    },
  },
  refusals: ["unauthenticated", "throttled"],
  handle: async ({ body }, context: AuthContext, { call }) => {
    const { secureCookie } = context.rules;
    const presented = presentedSession(call.headers, secureCookie);
    let session = "";
    const result = await signIn(body, context, {
      address: context.callerAddress(call),
      onGranted: async ({ user, prefix }) => {
        [session] = await Promise.all([createUserSession(user, prefix, context), endSession(presented, context)]);
      },
    });
    if (!result.granted) throw new Fault("unauthenticated", "Invalid credentials!");
    return { status: 200, body: { session }, cookies: [sessionCookie(session, secureCookie)] };
  },
});
