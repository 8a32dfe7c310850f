import { unlockUser as unlock } from "../../../../lib/auth/users/manage-users.ts";
import { noContent } from "../../../../lib/platform/http/call.ts";
import { endpoint } from "../../../../lib/platform/http/endpoint.ts";
import type { AuthContext } from "../../context.ts";
import { userParams } from "../../inputs.ts";

/** Clears the throttle of a username, also of an unknown one, because that can be locked too (A10). */
export const unlockUser = endpoint({
  routes: ["POST /users/{user}/unlock"],
  access: "caller",
  role: "support",
  tag: "Users",
  summary: "Clear the failed attempts of a username",
  description:
    "After several failed sign-ins a username has to wait before the next attempt. This call ends the wait. It " +
    "also accepts a username that no user has, because such a name can be locked too.",
  params: userParams,
  answers: { 204: { description: "Unlocked." } },
  handle: async ({ params }, context: AuthContext) => {
    await unlock(params.user, context);
    return noContent;
  },
});
