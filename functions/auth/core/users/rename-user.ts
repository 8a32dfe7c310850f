import * as z from "zod";
import { renameUser as rename } from "../../../../lib/auth/users/manage-users.ts";
import { endpoint } from "../../../../lib/platform/http/endpoint.ts";
import type { AuthContext } from "../../context.ts";
import { usernameField, userParams } from "../../inputs.ts";
import { userSummary } from "../../views.ts";

/** Renames a user and ends the user's sessions (A3). */
export const renameUser = endpoint({
  routes: ["POST /users/{user}/rename"],
  access: "caller",
  role: "admin",
  tag: "Users",
  summary: "Rename a user",
  description:
    "Gives a user another username, and ends the sessions of the user. Id, password, attributes, otpkeys and the time " +
    "of the last sign-in stay. A name that is the user's password is refused with 400. The former username is free at once; its next owner inherits nothing. Failed attempts " +
    "against either name do not count for the user any more.",
  params: userParams,
  body: z.object({ username: usernameField }),
  answers: { 200: { description: "The user is renamed.", schema: userSummary } },
  refusals: ["conflict"],
  handle: async ({ params, body }, context: AuthContext) => {
    const { id, name } = await rename(params.user, body.username, context);
    return { status: 200, body: { id, name } };
  },
});
