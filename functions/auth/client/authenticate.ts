import * as z from "zod";
import { presentedDeviceToken } from "../../../lib/auth/sessions/cookies.ts";
import { changeRequired } from "../../../lib/auth/sign-in/change-password.ts";
import { signIn } from "../../../lib/auth/sign-in/sign-in.ts";
import { ok } from "../../../lib/platform/http/call.ts";
import { endpoint } from "../../../lib/platform/http/endpoint.ts";
import type { AuthContext } from "../context.ts";
import { credentials, deviceHeader } from "./credentials.ts";

/** Checks credentials without creating a session. Both results are 200 (specification section 4). */
export const authenticate = endpoint({
  routes: ["POST /authenticate", "GET /authenticate"],
  access: "open",
  tag: "Credentials",
  summary: "Check whether credentials are valid and sufficient",
  description:
    "Answers whether the credentials would sign the user in, without creating a session. Both results are 200: " +
    "`true` or `false`. A user with an OTP key needs an OTP, and the OTP is used up. Wrong credentials count " +
    "toward the wait for the username. A user who must change the password first gets 401 with the `reason` " +
    "`password_change_required`, as at `login`.",
  headers: deviceHeader,
  body: credentials,
  answers: { 200: { description: "True if they are valid and sufficient.", schema: z.boolean() } },
  refusals: ["unauthenticated", "throttled"],
  handle: async ({ body }, context: AuthContext, { call, address }) => {
    const deviceToken = presentedDeviceToken(call.headers, context.rules.secureCookie);
    const result = await signIn(body, context, { address, deviceToken });
    if (!result.granted && result.mustChange) throw await changeRequired(result.mustChange, context);
    return ok(result.granted);
  },
});
