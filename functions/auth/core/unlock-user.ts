import * as z from "zod";
import { unlock } from "../../../lib/auth/manage-users.ts";
import { parseUserReference } from "../../../lib/auth/username.ts";
import { noContent } from "../../../lib/http/call.ts";
import { endpoint } from "../../../lib/http/endpoint.ts";
import type { AuthContext } from "../context.ts";

/** Beyond the specification: decision A10; a name that nobody has can be locked too. */
export const unlockUser = endpoint({
  routes: ["POST /users/{user}/unlock"],
  access: "caller",
  summary: "Forget the failed attempts of a username",
  params: z.object({ user: z.string().meta({ description: "The user's numeric id or username." }) }),
  answers: { 204: { description: "Unlocked." } },
  handle: async ({ params: { user } }, context: AuthContext) => {
    await unlock(user, parseUserReference(user), context);
    return noContent;
  },
});
