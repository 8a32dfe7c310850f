import { noSuchKey } from "../../../../lib/auth/otpkeys/manage-otpkeys.ts";
import type { UserRef } from "../../../../lib/auth/users/username.ts";
import type { Caller } from "../../../../lib/platform/caller.ts";
import { ok, type Reply } from "../../../../lib/platform/http/call.ts";
import { endpoint } from "../../../../lib/platform/http/endpoint.ts";
import type { AuthContext } from "../../context.ts";
import { keyParams, userKeyParams } from "../../inputs.ts";
import { otpkeyView, toOtpkeyView } from "../../views.ts";

/** Returns an OTP key (specification section 4). */
export const getOtpkey = endpoint({
  routes: ["GET /otpkeys/{prefix}"],
  access: "caller",
  role: "read",
  tag: "OTP keys",
  summary: "View an otpkey",
  description: "Returns the OTP key with its attributes and its users. The secret is never returned.",
  params: keyParams,
  answers: { 200: { description: "The otpkey.", schema: otpkeyView } },
  handle: ({ params }, context: AuthContext, { caller }) => view({ prefix: params.prefix, caller }, context),
});

/** Returns an OTP key of a user; 404 if it is not assigned to the user (specification section 4, rule 1). */
export const getUserOtpkey = endpoint({
  routes: ["GET /users/{user}/otpkeys/{prefix}", "GET /user/{user}/otpkeys/{prefix}"],
  access: "caller",
  role: "read",
  tag: "OTP keys",
  summary: "View an otpkey of a user",
  description:
    "Returns an OTP key of the user with its attributes. Responds 404 if the OTP key exists and is not assigned " +
    "to the user.",
  params: userKeyParams,
  answers: { 200: { description: "The otpkey.", schema: otpkeyView } },
  handle: ({ params: { user, prefix } }, context: AuthContext, { caller }) =>
    view({ prefix, of: user, caller }, context),
});

/** Maximum number of users in the view: each is read. */
const maxUsers = 10;

interface Viewing {
  readonly prefix: string;
  /** The user whose OTP key it must be, if the path has one. */
  readonly of?: UserRef;
  readonly caller: Caller;
}

async function view({ prefix, of, caller }: Viewing, { otpkeys, users }: AuthContext): Promise<Reply> {
  const [found, holders] = await Promise.all([
    otpkeys.view(prefix, of),
    users.list({ top: maxUsers }, { attributes: new Map(), otpkey: prefix }),
  ]);
  if (found === undefined) throw noSuchKey();
  const { entries } = holders;
  return ok({
    ...toOtpkeyView(found.key.value, found.attributes, caller),
    ...(entries.length > 0 && { users: entries }),
  });
}
