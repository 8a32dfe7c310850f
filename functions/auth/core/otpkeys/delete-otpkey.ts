import { deleteKey } from "../../../../lib/auth/otpkeys/manage-otpkeys.ts";
import { noContent } from "../../../../lib/platform/http/call.ts";
import { endpoint } from "../../../../lib/platform/http/endpoint.ts";
import type { AuthContext } from "../../context.ts";
import { keyParams } from "../../inputs.ts";

/** Deletes an OTP key, its data and every assignment (specification section 4, rule 3). */
export const deleteOtpkey = endpoint({
  routes: ["DELETE /otpkeys/{prefix}", "POST /otpkeys/{prefix}/delete"],
  access: "caller",
  role: "admin",
  tag: "OTP keys",
  summary: "Delete an otpkey, its data and every assignment",
  description: "Deletes the OTP key with its secret, its attributes and the assignments to all users.",
  params: keyParams,
  answers: { 204: { description: "Deleted." } },
  handle: async ({ params: { prefix } }, context: AuthContext) => {
    await deleteKey(prefix, context);
    return noContent;
  },
});
