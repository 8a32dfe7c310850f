import * as z from "zod";
import { createUserSession, endSession } from "../../../lib/auth/sessions/manage-sessions.ts";
import { presentedSession, sessionCookie } from "../../../lib/auth/sessions/session-cookie.ts";
import { signIn } from "../../../lib/auth/sign-in/sign-in.ts";
import { Fault } from "../../../lib/fault.ts";
import { endpoint } from "../../../lib/http/endpoint.ts";
import type { AuthContext } from "../context.ts";
import { credentials } from "./credentials.ts";

/** Signs in and creates a session. A session that the request presents ends (specification sections 3 and 4; A15). */
export const login = endpoint({
  routes: ["GET /login", "POST /login"],
  access: "open",
  summary: "Sign in and create a session",
  body: credentials,
  answers: {
    200: {
      description: "The session. The response also sets it as a cookie.",
      schema: z.object({ session: z.string() }),
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
