import * as z from "zod";
import { clearedSessionCookie } from "../../../lib/auth/sessions/cookies.ts";
import type { LiveSession } from "../../../lib/auth/sessions/manage-sessions.ts";
import { endpoint } from "../../../lib/platform/http/endpoint.ts";
import type { AuthContext } from "../context.ts";

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
