import { noSuchUser } from "../../../../lib/auth/users/manage-users.ts";
import { ok } from "../../../../lib/platform/http/call.ts";
import { endpoint } from "../../../../lib/platform/http/endpoint.ts";
import type { AuthContext } from "../../context.ts";
import { userParams } from "../../inputs.ts";
import { userView } from "../../views.ts";

/** Returns a user (specification section 4). */
export const getUser = endpoint({
  routes: ["GET /users/{user}"],
  access: "caller",
  role: "read",
  tag: "Users",
  summary: "View a user",
  description:
    "Returns the user with attributes and the prefixes of all assigned OTP keys. The password is never returned.",
  params: userParams,
  answers: { 200: { description: "The user.", schema: userView } },
  handle: async ({ params }, { users }: AuthContext) => {
    const view = params.user && (await users.view(params.user));
    if (view === undefined) throw noSuchUser();
    const { attributes, otpkeys, id, name, lastLogin } = view;
    return ok({ attributes, otpkeys, id, name, ...(lastLogin !== undefined && { last_login: lastLogin }) });
  },
});
