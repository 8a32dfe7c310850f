import { viewUser } from "../../../../lib/auth/users/view-user.ts";
import { ok } from "../../../../lib/platform/http/call.ts";
import { endpoint } from "../../../../lib/platform/http/endpoint.ts";
import { omitUndefined } from "../../../../lib/platform/omit-undefined.ts";
import type { AuthContext } from "../../context.ts";
import { userParams } from "../../inputs.ts";
import { toLastRefusal, userView } from "../../views.ts";

/** Returns a user (specification section 4). */
export const getUser = endpoint({
  routes: ["GET /users/{user}"],
  access: "caller",
  role: "read",
  tag: "Users",
  summary: "View a user",
  description:
    "Returns the user with attributes and the prefixes of all assigned OTP keys, and why the last refused sign-in " +
    "failed. The password is never returned.",
  params: userParams,
  answers: { 200: { description: "The user.", schema: userView } },
  handle: async ({ params }, context: AuthContext, { caller }) => {
    const { attributes, otpkeys, id, name, enabled, importedScheme, lastLogin, mustChange, codeValidUntil, lock } =
      await viewUser(params.user, context);
    const { lockedUntil, lastRefusal } = lock;
    return ok({
      attributes,
      otpkeys,
      id,
      name,
      enabled,
      ...omitUndefined({
        password: importedScheme && { imported: importedScheme },
        last_login: lastLogin,
        last_refusal: toLastRefusal(lastRefusal, caller),
        locked_until: lockedUntil,
        must_change: mustChange,
        code_valid_until: codeValidUntil,
      }),
    });
  },
});
