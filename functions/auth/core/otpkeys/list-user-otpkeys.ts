import * as z from "zod";
import { noSuchUser } from "../../../../lib/auth/users/manage-users.ts";
import { ok } from "../../../../lib/platform/http/call.ts";
import { endpoint } from "../../../../lib/platform/http/endpoint.ts";
import type { AuthContext } from "../../context.ts";
import { userParams } from "../../inputs.ts";

/** Lists the prefixes of a user's OTP keys (A10). */
export const listUserOtpkeys = endpoint({
  routes: ["GET /users/{user}/otpkeys", "GET /user/{user}/otpkeys"],
  access: "caller",
  role: "read",
  tag: "OTP keys",
  summary: "List the otpkeys of a user",
  description: "Returns the prefixes of the OTP keys that are assigned to the user.",
  params: userParams,
  answers: { 200: { description: "Prefixes of the otpkeys.", schema: z.array(z.string()) } },
  handle: async ({ params }, { users }: AuthContext) => {
    const user = await users.find(params.user);
    if (user === undefined) throw noSuchUser();
    return ok(user.value.otpkeys.map(({ prefix }) => prefix));
  },
});
