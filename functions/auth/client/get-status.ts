import * as z from "zod";
import { unixSeconds } from "../../../lib/auth/model/session.ts";
import type { LiveSession } from "../../../lib/auth/sessions/manage-sessions.ts";
import { ok } from "../../../lib/http/call.ts";
import { endpoint } from "../../../lib/http/endpoint.ts";
import type { AuthContext } from "../context.ts";

const statusAnswer = z.object({
  username: z.string(),
  user_id: z.int(),
  prefix: z.string().nullable().describe("Of the otpkey that was used, or null."),
  _accessed_time: z.number().describe("Unix seconds of this request."),
  _creation_time: z.number().describe("Unix seconds of the login."),
});

/** Specification sections 2 and 4; decision A15. */
export const getStatus = endpoint({
  routes: ["GET /status", "POST /status"],
  access: "session",
  summary: "Inspect the session",
  answers: { 200: { description: "The session.", schema: statusAnswer } },
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
