import * as z from "zod";
import { validateFactors } from "../../../../lib/auth/sign-in/validate-factors.ts";
import { ok } from "../../../../lib/platform/http/call.ts";
import { endpoint } from "../../../../lib/platform/http/endpoint.ts";
import type { AuthContext } from "../../context.ts";
import { optionalOtp, optionalText, userParams } from "../../inputs.ts";

/** Reports separately whether a password and an OTP are the user's (specification section 4). */
export const validateUser = endpoint({
  routes: ["POST /users/{user}/validate", "GET /users/{user}/validate"],
  access: "caller",
  role: "admin",
  tag: "Users",
  summary: "Check a password and an OTP of a user separately",
  description:
    "Reports separately whether the password and the OTP belong to the user. A valid OTP is used up. No session " +
    "is created, and failed checks are not counted against the user. Does not tell whether the user is disabled.",
  params: userParams,
  body: z.object({ password: optionalText("A password."), otp: optionalOtp("An OTP. It is used up.") }),
  answers: {
    200: {
      description: "The result for each; false for one that was not given.",
      schema: z.object({ valid_password: z.boolean(), valid_otp: z.boolean() }).meta({ id: "ValidationResult" }),
    },
  },
  handle: async ({ params, body }, context: AuthContext) => {
    const { validPassword, validOtp } = await validateFactors(params.user, body, context);
    return ok({ valid_password: validPassword, valid_otp: validOtp });
  },
});
