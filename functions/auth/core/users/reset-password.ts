import * as z from "zod";
import { noSuchUser, resetPassword as reset } from "../../../../lib/auth/users/manage-users.ts";
import { noContent } from "../../../../lib/platform/http/call.ts";
import { endpoint } from "../../../../lib/platform/http/endpoint.ts";
import type { AuthContext } from "../../context.ts";
import { userParams } from "../../inputs.ts";

/** Sets a user's password and ends the user's sessions (specification section 4). */
export const resetPassword = endpoint({
  routes: ["POST /users/{user}/reset"],
  access: "caller",
  role: "admin",
  tag: "Users",
  summary: "Set a user's password and end the user's sessions",
  description:
    "Sets a new password without the current one, and ends the sessions of the user. An empty password means that " +
    "the user cannot sign in with a password.",
  params: userParams,
  body: z.object({ password: z.string().meta({ description: "The new password. An empty one means no password." }) }),
  answers: { 204: { description: "Changed." } },
  handle: async ({ params, body }, context: AuthContext) => {
    if (params.user === undefined) throw noSuchUser();
    await reset(params.user, body.password, context);
    return noContent;
  },
});
