import * as z from "zod";
import { validateFactors } from "../../../../lib/auth/sign-in/validate-factors.ts";
import { noSuchUser } from "../../../../lib/auth/users/manage-users.ts";
import { ok } from "../../../../lib/http/call.ts";
import { endpoint } from "../../../../lib/http/endpoint.ts";
import type { AuthContext } from "../../context.ts";
import { optionalText, userParams } from "../../inputs.ts";

/** Specification section 4; decision A13. */
export const validateUser = endpoint({
  routes: ["GET /users/{user}/validate", "POST /users/{user}/validate"],
  access: "caller",
  summary: "Tell of a password and an OTP whether each is the user's",
  params: userParams,
  body: z.object({ password: optionalText("A password."), otp: optionalText("An OTP; it is used up.") }),
  answers: {
    200: { description: "Each on its own.", schema: z.object({ valid_password: z.boolean(), valid_otp: z.boolean() }) },
  },
  handle: async ({ params, body }, context: AuthContext) => {
    if (params.user === undefined) throw noSuchUser();
    const { validPassword, validOtp } = await validateFactors(params.user, body, context);
    return ok({ valid_password: validPassword, valid_otp: validOtp });
  },
});
