import * as z from "zod";
import * as manage from "../../../lib/auth/otpkeys/manage-otpkeys.ts";
import { isPrefix } from "../../../lib/auth/otpkeys/prefix.ts";
import { requireUser } from "../../../lib/auth/users/manage-users.ts";
import type { UserRef } from "../../../lib/auth/users/username.ts";
import type { Caller } from "../../../lib/platform/caller.ts";
import { omitUndefined } from "../../../lib/platform/collections.ts";
import { ok, type Reply } from "../../../lib/platform/http/call.ts";
import { endpoint } from "../../../lib/platform/http/endpoint.ts";
import { unknownParameters } from "../../../lib/platform/http/problems.ts";
import { readQuery } from "../../../lib/platform/http/read-fields.ts";
import type { AuthContext } from "../context.ts";
import { assignment, ofKey, ofKeys, ofUserKey, ofUserKeys, optionalFlag, prefixField } from "../inputs.ts";
import { futureProblems, listReply, notFromLink, pageSize, pastTime } from "../paging.ts";
import { noContentAfter, otpkeySummary, otpkeyView, toOtpkeyView } from "../views.ts";

export const assignOtpkey = endpoint({
  ...ofUserKeys,
  routes: ["POST /users/{user}/otpkeys", "POST /user/{user}/otpkeys"],
  role: "admin",
  summary: "Assign an otpkey to a user; an unknown prefix creates the otpkey",
  description:
    "Assigns an OTP key to a user. If no OTP key has the prefix, the call creates one: of kind `remote` if validation " +
    "servers are configured, which check its OTPs, else without a secret, so that its OTPs are refused until the secret " +
    "is imported. An OTP key can be assigned to several users. A text with the form of a prefix and a code, such as 12 " +
    "characters and 6 digits, creates no otpkey: 400. A shorter one does, unless it is the prefix of an otpkey and a code.",
  body: assignment,
  answers: { 204: { description: "Done." } },
  handle: ({ params, body }, context: AuthContext) =>
    noContentAfter(manage.assignKey(params.user, body.otpkey, context)),
});

export const listUserOtpkeys = endpoint({
  ...ofUserKeys,
  routes: ["GET /users/{user}/otpkeys", "GET /user/{user}/otpkeys"],
  role: "read",
  summary: "List the otpkeys of a user",
  description: "Returns the prefixes of the OTP keys that are assigned to the user.",
  answers: { 200: { description: "Prefixes of the otpkeys.", schema: z.array(z.string()) } },
  handle: async ({ params }, context: AuthContext) => {
    const user = await requireUser(params.user, context);
    return ok(user.value.otpkeys.map(({ prefix }) => prefix));
  },
});

export const getOtpkey = endpoint({
  ...ofKey,
  routes: ["GET /otpkeys/{prefix}"],
  role: "read",
  summary: "View an otpkey",
  description: "Returns the OTP key with its attributes and its users. The secret is never returned.",
  answers: { 200: { description: "The otpkey.", schema: otpkeyView } },
  handle: ({ params }, context: AuthContext, { caller }) => view(params, caller, context),
});

export const getUserOtpkey = endpoint({
  ...ofUserKey,
  routes: ["GET /users/{user}/otpkeys/{prefix}", "GET /user/{user}/otpkeys/{prefix}"],
  role: "read",
  summary: "View an otpkey of a user",
  description:
    "Returns an OTP key of the user with its attributes. Responds 404 if the OTP key exists and is not assigned " +
    "to the user.",
  answers: { 200: { description: "The otpkey.", schema: otpkeyView } },
  handle: ({ params }, context: AuthContext, { caller }) => view(params, caller, context),
});

/** Maximum number of users in the view: each is read. */
const maxUsers = 10;

/** @param user whose OTP key it must be, if the path has one */
async function view(
  { prefix, user }: { readonly prefix: string; readonly user?: UserRef },
  caller: Caller,
  { otpkeys, users, now }: AuthContext,
): Promise<Reply> {
  const [found, holders] = await Promise.all([
    otpkeys.view(prefix, user),
    users.list({ top: maxUsers }, { otpkey: prefix }),
  ]);
  if (found === undefined) throw manage.noSuchKey();
  const { entries } = holders;
  return ok({
    ...toOtpkeyView(found.key.value, found.attributes, { caller, now: now() }),
    ...(entries.length > 0 && { users: entries }),
  });
}

export const unassignOtpkey = endpoint({
  ...ofUserKey,
  routes: [
    "DELETE /users/{user}/otpkeys/{prefix}",
    "POST /users/{user}/otpkeys/{prefix}/delete",
    "DELETE /user/{user}/otpkeys/{prefix}",
    "POST /user/{user}/otpkeys/{prefix}/delete",
  ],
  role: "admin",
  summary: "Unassign an otpkey from a user",
  description:
    "Removes the assignment. The OTP key keeps its state and its attributes, and stays assigned to other users.",
  answers: { 204: { description: "Done." } },
  handle: ({ params: { user, prefix } }, context: AuthContext) =>
    noContentAfter(manage.unassignKey(user, prefix, context)),
});

export const deleteOtpkey = endpoint({
  ...ofKey,
  routes: ["DELETE /otpkeys/{prefix}", "POST /otpkeys/{prefix}/delete"],
  role: "admin",
  summary: "Delete an otpkey, its data and every assignment",
  description: "Deletes the OTP key with its secret, its attributes and the assignments to all users.",
  answers: { 204: { description: "Done." } },
  handle: ({ params: { prefix } }, context: AuthContext) => noContentAfter(manage.deleteKey(prefix, context)),
});

const query = z.lazy(() =>
  z.object({
    $top: pageSize,
    $skiptoken: z
      .string()
      .refine(text => isPrefix(text), { error: notFromLink })
      .optional()
      .describe("Start of the page, from the link to it."),
    enabled: optionalFlag("Only enabled otpkeys, or only disabled ones."),
    stopped: optionalFlag("Only otpkeys that wrong OTPs stopped, or only others."),
    assigned: optionalFlag(
      "Only otpkeys that a user has, or only those that no user has. An assignment that failed half-way counts for an hour.",
    ),
    $prefix: prefixField.optional().describe("Only otpkeys whose prefix begins with this text."),
    unused_since: pastTime("Only otpkeys that were created before this time and have had no valid OTP since."),
  }),
);

export const listOtpkeys = endpoint({
  ...ofKeys,
  routes: ["GET /otpkeys"],
  role: "read",
  summary: "List otpkeys",
  description:
    "Returns id, prefix and state of all OTP keys, or of those that match every filter. With `$top` the list is " +
    'paged: follow the `Link` header with `rel="next"` until there is none. A page of a filtered list examines at ' +
    "most 1,000 OTP keys, so it can have fewer entries than `$top`, even none.",
  query,
  answers: { 200: { description: "OTP keys, sorted by prefix.", headers: ["link"], schema: z.array(otpkeySummary) } },
  check: ({ unused_since: unusedSince }, { now }: AuthContext, { call }) => [
    ...futureProblems("unused_since", unusedSince, now()),
    // If one were ignored, a complete list would look filtered.
    ...unknownParameters(query, readQuery(call.url)),
  ],
  handle: (
    { query: { enabled, stopped, assigned, $prefix: beginning, unused_since, ...page } },
    context: AuthContext,
    { call },
  ) => {
    const { otpkeys, coreUrl } = context;
    const filter = omitUndefined({ enabled, stopped, assigned, beginning, unusedSince: unused_since });
    return listReply(call, page, `${coreUrl(call.url)}/otpkeys`, range => otpkeys.list(range, filter));
  },
});
