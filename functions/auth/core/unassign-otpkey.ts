import { noSuchKey } from "../../../lib/auth/manage-otpkeys.ts";
import { noContent } from "../../../lib/http/call.ts";
import { endpoint } from "../../../lib/http/endpoint.ts";
import type { AuthContext } from "../context.ts";
import { ofUserKey } from "../inputs.ts";

/** Specification section 4, rule 2: the key stays as it is. */
export const unassignOtpkey = endpoint({
  routes: [
    "DELETE /users/{user}/otpkeys/{prefix}",
    "POST /users/{user}/otpkeys/{prefix}/delete",
    "DELETE /user/{user}/otpkeys/{prefix}",
    "POST /user/{user}/otpkeys/{prefix}/delete",
  ],
  access: "caller",
  summary: "Take an otpkey from a user",
  params: ofUserKey,
  answers: { 204: { description: "Taken away." } },
  handle: async ({ params: { user, prefix } }, { otpkeys, log }: AuthContext) => {
    const had = user !== undefined && prefix !== undefined && (await otpkeys.unassign(user, prefix));
    if (!had) throw noSuchKey();
    log.info("otpkey_unassigned", { prefix });
    return noContent;
  },
});
