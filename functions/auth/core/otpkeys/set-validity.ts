import * as z from "zod";
import { setValidity as set } from "../../../../lib/auth/otpkeys/validity.ts";
import { noContent } from "../../../../lib/platform/http/call.ts";
import { endpoint } from "../../../../lib/platform/http/endpoint.ts";
import type { AuthContext } from "../../context.ts";
import { keyParams, toValidity, validityFields } from "../../inputs.ts";

/** Sets the time in which OTPs of an OTP key are accepted (A10). */
export const setValidity = endpoint({
  routes: ["POST /otpkeys/{prefix}/validity"],
  access: "caller",
  role: "admin",
  tag: "OTP keys",
  summary: "Set the time in which OTPs of an otpkey are accepted",
  description:
    "OTPs are accepted from `valid_from` on and before `valid_until`. A limit that is not given is removed. OTPs at " +
    "another time are refused and used up, and the user still needs an OTP to sign in.",
  params: keyParams,
  body: z.object(validityFields),
  answers: { 204: { description: "Set." } },
  handle: async ({ params, body }, context: AuthContext) => {
    await set(params.prefix, toValidity(body), context);
    return noContent;
  },
});
