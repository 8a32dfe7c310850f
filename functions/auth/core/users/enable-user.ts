import { setUserEnabled } from "../../../../lib/auth/users/manage-users.ts";
import { noContent } from "../../../../lib/platform/http/call.ts";
import { endpoint } from "../../../../lib/platform/http/endpoint.ts";
import type { AuthContext } from "../../context.ts";
import { userParams } from "../../inputs.ts";

/** Disables a user (A10). */
export const disableUser = endpoint({
  routes: ["POST /users/{user}/disable"],
  access: "caller",
  role: "support",
  tag: "Users",
  summary: "Disable a user",
  description:
    "Signs the user out everywhere and refuses every sign-in, with the answer to a wrong password. Device tokens end " +
    "too. Password, attributes and OTP keys stay.",
  params: userParams,
  answers: { 204: { description: "Disabled." } },
  handle: async ({ params }, context: AuthContext) => {
    await setUserEnabled(params.user, false, context);
    return noContent;
  },
});

/** Enables a disabled user. */
export const enableUser = endpoint({
  routes: ["POST /users/{user}/enable"],
  access: "caller",
  role: "support",
  tag: "Users",
  summary: "Enable a user",
  description: "The user can sign in again, with the same password and OTP keys. A lock of the username stays.",
  params: userParams,
  answers: { 204: { description: "The user can sign in." } },
  handle: async ({ params }, context: AuthContext) => {
    await setUserEnabled(params.user, true, context);
    return noContent;
  },
});
