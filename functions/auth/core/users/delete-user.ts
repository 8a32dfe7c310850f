import { deleteUser as remove } from "../../../../lib/auth/users/manage-users.ts";
import { noContent } from "../../../../lib/platform/http/call.ts";
import { endpoint } from "../../../../lib/platform/http/endpoint.ts";
import type { AuthContext } from "../../context.ts";
import { userParams } from "../../inputs.ts";

/** Deletes a user (specification section 4). */
export const deleteUser = endpoint({
  routes: ["DELETE /users/{user}", "POST /users/{user}/delete"],
  access: "caller",
  role: "admin",
  tag: "Users",
  summary: "Delete a user with attributes, assignments and sessions",
  description:
    "Deletes the user with all attributes, and ends the user's sessions. The OTP keys of the user stay, without " +
    "the assignment to the user.",
  params: userParams,
  answers: { 204: { description: "Deleted." } },
  handle: async ({ params }, context: AuthContext) => {
    await remove(params.user, context);
    return noContent;
  },
});
