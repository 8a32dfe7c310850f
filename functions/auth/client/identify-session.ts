import { presentedSession } from "../../../lib/auth/sessions/cookies.ts";
import { type LiveSession, requireSession } from "../../../lib/auth/sessions/manage-sessions.ts";
import type { Identify } from "../../../lib/platform/http/api.ts";
import type { AuthContext } from "../context.ts";

/** Finds the session of a Client API call, if the endpoint's access requires one (A15). */
export const identifySession =
  (context: AuthContext): Identify<LiveSession> =>
  async (access, call) => {
    if (access !== "session" && access !== "session_without_refresh") return {};
    const presented = presentedSession(call.headers, context.rules.secureCookie);
    const session = await requireSession(presented, context, { touch: access === "session" });
    return { session, logFields: { userId: session.user.value.id } };
  };
