import * as z from "zod";
import { disableKeyAndEndSessions, setKeyEnabled } from "../../../../lib/auth/otpkeys/manage-otpkeys.ts";
import { noContent } from "../../../../lib/platform/http/call.ts";
import { endpoint } from "../../../../lib/platform/http/endpoint.ts";
import type { AuthContext } from "../../context.ts";
import { keyParams, optionalFlag } from "../../inputs.ts";

/** Enables an OTP key and clears its stop (A10, A12). */
export const enableOtpkey = endpoint({
  routes: ["POST /otpkeys/{prefix}/enable"],
  access: "caller",
  role: "support",
  tag: "OTP keys",
  summary: "Enable an otpkey, also one that wrong OTPs stopped",
  description:
    "Enables an OTP key that was disabled. Also clears its count of wrong OTPs, the stop after too many of them, and " +
    "the throttle of attempts without a username under its prefix. A stopped OTP key that is not disabled has " +
    "`enabled: true` and `stopped: true`.",
  params: keyParams,
  answers: { 204: { description: "Enabled." } },
  handle: async ({ params }, context: AuthContext) => {
    await setKeyEnabled(params.prefix, true, context);
    return noContent;
  },
});

/** Disables an OTP key, and on request ends its sessions. */
export const disableOtpkey = endpoint({
  routes: ["POST /otpkeys/{prefix}/disable"],
  access: "caller",
  role: "support",
  tag: "OTP keys",
  summary: "Disable an otpkey",
  description:
    "OTPs of a disabled OTP key are refused. Use this for a lost key, with `end_sessions=true` to end the " +
    "sessions that it opened. The assignments and attributes stay, and so does a temporary code of the OTP key: " +
    "`DELETE` of the code revokes it.",
  params: keyParams,
  body: z.object({
    end_sessions: optionalFlag("Whether to end the sessions that were opened with the otpkey; default: false."),
  }),
  answers: { 204: { description: "Disabled." } },
  handle: async ({ params, body }, context: AuthContext) => {
    if (body.end_sessions) await disableKeyAndEndSessions(params.prefix, context);
    else await setKeyEnabled(params.prefix, false, context);
    return noContent;
  },
});
