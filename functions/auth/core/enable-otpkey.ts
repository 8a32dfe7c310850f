import { noSuchKey, setEnabled } from "../../../lib/auth/manage-otpkeys.ts";
import { noContent } from "../../../lib/http/call.ts";
import { endpoint } from "../../../lib/http/endpoint.ts";
import type { AuthContext } from "../context.ts";
import { ofKey } from "../inputs.ts";

/** Beyond the specification: decisions A10, A12. */
export const enableOtpkey = endpoint({
  routes: ["POST /otpkeys/{prefix}/enable"],
  access: "caller",
  summary: "Enable an otpkey, also one that wrong OTPs stopped",
  params: ofKey,
  answers: { 204: { description: "Enabled." } },
  handle: ({ params }, context: AuthContext) => set(params.prefix, true, context),
});

/** Beyond the specification: decision A10. */
export const disableOtpkey = endpoint({
  routes: ["POST /otpkeys/{prefix}/disable"],
  access: "caller",
  summary: "Disable an otpkey",
  params: ofKey,
  answers: { 204: { description: "Disabled." } },
  handle: ({ params }, context: AuthContext) => set(params.prefix, false, context),
});

async function set(prefix: string | undefined, enabled: boolean, context: AuthContext) {
  if (prefix === undefined) throw noSuchKey();
  await setEnabled(prefix, enabled, context);
  return noContent;
}
