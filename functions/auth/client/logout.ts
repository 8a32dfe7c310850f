import * as z from "zod";
import { clearedSessionCookie, presentedSession } from "../../../lib/auth/session-cookie.ts";
import { requireSession } from "../../../lib/auth/sessions.ts";
import { endpoint } from "../../../lib/http/endpoint.ts";
import type { AuthContext } from "../context.ts";

/** Specification sections 3 and 4; decision A15. */
export const logout = endpoint({
  routes: ["GET /logout", "POST /logout"],
  access: "session",
  summary: "End the session",
  answers: { 200: { description: "Ended.", schema: z.literal(true) } },
  handle: async (_, context: AuthContext, { call }) => {
    const { secureCookie } = context.rules;
    const { key } = await requireSession(presentedSession(call.headers, secureCookie), context, { touch: false });
    await context.sessions.end(key);
    return { status: 200, body: true, cookies: [clearedSessionCookie(secureCookie)] };
  },
});
