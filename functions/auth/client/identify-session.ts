import { presentedSession } from "../../../lib/auth/sessions/cookies.ts";
import { findLiveSession, type LiveSession, sessionRequired } from "../../../lib/auth/sessions/manage-sessions.ts";
import type { Identify } from "../../../lib/platform/http/api.ts";
import type { AuthContext } from "../context.ts";

/** Finds the session of a Client API call, if the endpoint's access requires one (A15). */
export const identifySession =
  (context: AuthContext): Identify<LiveSession> =>
  async (access, call) => {
    if (access === "open" || access === "caller") return {};
    const presented = presentedSession(call.headers, context.rules.secureCookie);
    const session = await findLiveSession(presented, context, { touch: access !== "session_without_refresh" });
    if (session === undefined && access === "optional_session") return {};
    if (session === undefined) throw sessionRequired();
    return { session, logFields: { userId: session.user.value.id } };
  };
