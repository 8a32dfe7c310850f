import * as z from "zod";
import { disableKeyAndEndSessions, noSuchKey, setKeyEnabled } from "../../../../lib/auth/otpkeys/manage-otpkeys.ts";
import { noContent } from "../../../../lib/http/call.ts";
import { endpoint } from "../../../../lib/http/endpoint.ts";
import type { AuthContext } from "../../context.ts";
import { keyParams, optionalFlag } from "../../inputs.ts";

/** Enables an OTP key and clears its stop (A10, A12). */
export const enableOtpkey = endpoint({
  routes: ["POST /otpkeys/{prefix}/enable"],
  access: "caller",
  summary: "Enable an otpkey, also one that wrong OTPs stopped",
  params: keyParams,
  answers: { 204: { description: "Enabled." } },
  handle: async ({ params }, context: AuthContext) => {
    if (params.prefix === undefined) throw noSuchKey();
    await setKeyEnabled(params.prefix, true, context);
    return noContent;
  },
});

/** Disables an OTP key, and on request ends its sessions (A10). */
export const disableOtpkey = endpoint({
  routes: ["POST /otpkeys/{prefix}/disable"],
  access: "caller",
  summary: "Disable an otpkey",
  params: keyParams,
  body: z.object({
    end_sessions: optionalFlag("Whether to end the sessions that were opened with the otpkey; default: false."),
  }),
  answers: { 204: { description: "Disabled." } },
  handle: async ({ params, body }, context: AuthContext) => {
    if (params.prefix === undefined) throw noSuchKey();
    if (body.end_sessions) await disableKeyAndEndSessions(params.prefix, context);
    else await setKeyEnabled(params.prefix, false, context);
    return noContent;
  },
});
