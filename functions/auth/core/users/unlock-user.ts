import { unlockUser as unlock } from "../../../../lib/auth/users/manage-users.ts";
import { noContent } from "../../../../lib/http/call.ts";
import { endpoint } from "../../../../lib/http/endpoint.ts";
import type { AuthContext } from "../../context.ts";
import { userParams } from "../../inputs.ts";

/** Beyond the specification: decision A10; a name that nobody has can be locked too. */
export const unlockUser = endpoint({
  routes: ["POST /users/{user}/unlock"],
  access: "caller",
  summary: "Forget the failed attempts of a username",
  params: userParams,
  answers: { 204: { description: "Unlocked." } },
  handle: async ({ params }, context: AuthContext) => {
    await unlock(params.user, context);
    return noContent;
  },
});
