import { unassignKey } from "../../../../lib/auth/otpkeys/manage-otpkeys.ts";
import { noContent } from "../../../../lib/platform/http/call.ts";
import { endpoint } from "../../../../lib/platform/http/endpoint.ts";
import type { AuthContext } from "../../context.ts";
import { userKeyParams } from "../../inputs.ts";

/** Unassigns an OTP key; the key itself does not change (specification section 4, rule 2). */
export const unassignOtpkey = endpoint({
  routes: [
    "DELETE /users/{user}/otpkeys/{prefix}",
    "POST /users/{user}/otpkeys/{prefix}/delete",
    "DELETE /user/{user}/otpkeys/{prefix}",
    "POST /user/{user}/otpkeys/{prefix}/delete",
  ],
  access: "caller",
  role: "admin",
  tag: "OTP keys",
  summary: "Unassign an otpkey from a user",
  description:
    "Removes the assignment. The OTP key keeps its state and its attributes, and stays assigned to other users.",
  params: userKeyParams,
  answers: { 204: { description: "Unassigned." } },
  handle: async ({ params: { user, prefix } }, context: AuthContext) => {
    await unassignKey(user, prefix, context);
    return noContent;
  },
});
