import { endSessions as end } from "../../../../lib/auth/users/manage-users.ts";
import { noContent } from "../../../../lib/platform/http/call.ts";
import { endpoint } from "../../../../lib/platform/http/endpoint.ts";
import type { AuthContext } from "../../context.ts";
import { userParams } from "../../inputs.ts";

/** Ends all sessions of a user (A10). */
export const endSessions = endpoint({
  routes: ["POST /users/{user}/sessions/delete"],
  access: "caller",
  role: "support",
  tag: "Users",
  summary: "End all sessions of a user",
  description:
    "Signs the user out everywhere. The user can sign in again at once; to prevent that, set a new password or " +
    "disable the OTP key first.",
  params: userParams,
  answers: { 204: { description: "Ended." } },
  handle: async ({ params }, context: AuthContext) => {
    await end(params.user, context);
    return noContent;
  },
});
