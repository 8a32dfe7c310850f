import * as z from "zod";
import { readOtp } from "../../../lib/auth/otpkeys/kinds/split-otp.ts";
import type { LiveSession } from "../../../lib/auth/sessions/manage-sessions.ts";
import { assignOwnKey } from "../../../lib/auth/sign-in/assign-own-key.ts";
import { ok } from "../../../lib/platform/http/call.ts";
import { type CallContext, endpoint } from "../../../lib/platform/http/endpoint.ts";
import type { AuthContext } from "../context.ts";

/** Assigns an unassigned OTP key to the session's user (A22). */
export const assignOwnOtpkey = endpoint({
  routes: ["POST /otpkeys"],
  access: "session",
  tag: "Credentials",
  summary: "Assign an otpkey to the session's user",
  description:
    "Assigns the otpkey of the OTP to the user of the session, if it is assigned to no user. Requires the user's " +
    "password. Wrong credentials count toward the wait for the username. Responds 403 unless the deployment allows " +
    "it (`AUTH_SELF_ASSIGN`).",
  body: z.object({
    password: z.string().min(1).describe("The user's password."),
    otp: z.string().min(1).transform(readOtp).describe("An unused OTP of the otpkey."),
  }),
  answers: {
    200: {
      description: "The otpkey is assigned.",
      schema: z.object({ prefix: z.string().describe("Prefix of the otpkey.") }).meta({ id: "AssignedOtpKey" }),
    },
  },
  refusals: ["throttled", "conflict"],
  handle: async ({ body }, context: AuthContext, { address, session }: CallContext & { session: LiveSession }) =>
    ok({ prefix: await assignOwnKey(session, body, context, { address }) }),
});
