import * as z from "zod";
import type { LiveSession } from "../../../lib/auth/sessions/manage-sessions.ts";
import { unixSeconds } from "../../../lib/auth/sessions/session.ts";
import { ok } from "../../../lib/platform/http/call.ts";
import { endpoint } from "../../../lib/platform/http/endpoint.ts";
import type { AuthContext } from "../context.ts";

const statusBody = z
  .object({
    username: z.string().describe("The username as it was created."),
    user_id: z.int().min(1).describe("The numeric id of the user."),
    prefix: z.string().nullable().describe("Prefix of the otpkey whose OTP was used at the login, or null."),
    _accessed_time: z.number().describe("Time of this request in Unix seconds."),
    _creation_time: z.number().describe("Time of the login in Unix seconds."),
  })
  .meta({ id: "SessionStatus" });

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
