import { assignGivenKey } from "../../../../lib/auth/otpkeys/manage-otpkeys.ts";
import { noContent } from "../../../../lib/platform/http/call.ts";
import { endpoint } from "../../../../lib/platform/http/endpoint.ts";
import type { AuthContext } from "../../context.ts";
import { assignment, userParams } from "../../inputs.ts";

/** Assigns an OTP key (specification section 4). */
export const assignOtpkey = endpoint({
  routes: ["POST /users/{user}/otpkeys", "POST /user/{user}/otpkeys"],
  access: "caller",
  role: "admin",
  tag: "OTP keys",
  summary: "Assign an otpkey to a user; an unknown prefix creates the otpkey",
  description:
    "Assigns an OTP key to a user, by its prefix or by any OTP of it, which is not used up. If no OTP key has the " +
    "prefix, the call creates one: of kind `remote` if validation servers are configured, which check its OTPs, else " +
    "without a secret, so that its OTPs are refused until the secret is imported. An OTP key can be assigned to " +
    "several users. A text that ends in six digits can be a prefix or an OTP: an otpkey with this " +
    "prefix comes first, then one whose OTP it can be. A text that looks like an OTP creates no otpkey: 400.",
  params: userParams,
  body: assignment,
  answers: { 204: { description: "Assigned." } },
  handle: async ({ params, body }, context: AuthContext) => {
    await assignGivenKey(params.user, body.otpkey, context);
    return noContent;
  },
});
