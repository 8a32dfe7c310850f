import * as z from "zod";
import { disableKeyAndEndSessions, noSuchKey, setKeyEnabled } from "../../../../lib/auth/otpkeys/manage-otpkeys.ts";
import { noContent } from "../../../../lib/http/call.ts";
import { endpoint } from "../../../../lib/http/endpoint.ts";
import type { AuthContext } from "../../context.ts";
import { keyParams, optionalFlag } from "../../inputs.ts";

/** Beyond the specification: decisions A10, A12. */
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

/** Beyond the specification: decision A10. */
export const disableOtpkey = endpoint({
  routes: ["POST /otpkeys/{prefix}/disable"],
  access: "caller",
  summary: "Disable an otpkey",
  params: keyParams,
  body: z.object({
    end_sessions: optionalFlag("End the sessions that were opened with the otpkey; false by default."),
  }),
  answers: { 204: { description: "Disabled." } },
  handle: async ({ params, body }, context: AuthContext) => {
    if (params.prefix === undefined) throw noSuchKey();
    if (body.end_sessions) await disableKeyAndEndSessions(params.prefix, context);
    else await setKeyEnabled(params.prefix, false, context);
    return noContent;
  },
});
