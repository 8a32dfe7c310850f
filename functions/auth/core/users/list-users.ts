import * as z from "zod";
import { parsePrefix } from "../../../../lib/auth/model/prefix.ts";
import { ok } from "../../../../lib/http/call.ts";
import { endpoint } from "../../../../lib/http/endpoint.ts";
import { omitUndefined } from "../../../../lib/omit-undefined.ts";
import type { AuthContext } from "../../context.ts";
import { listReply, otherParameters, paging, pastTime, requirePast } from "../../paging.ts";
import { userSummary } from "../../views.ts";

const query = z
  .object({
    otpkey: z.string().optional().describe("Prefix of an assigned otpkey."),
    ...paging,
    $unused_since: pastTime("Only users who were created before this time and have not signed in since."),
  })
  .describe("Every other parameter is an attribute's key with its value.");

/** Lists users, all or filtered (specification section 4). */
export const listUsers = endpoint({
  routes: ["GET /users"],
  access: "caller",
  tag: "Users",
  summary: "List users, all or those that match every filter: `otpkey`, and attributes by their keys",
  description:
    "Returns id and name of all users, or of those that match every filter. `otpkey` filters by an assigned OTP " +
    "key; every other parameter is the key of an attribute with its value, as in `?team=red`. With `$top` the " +
    'list is paged: follow the `Link` header with `rel="next"` until there is none. A page of a filtered list ' +
    "examines at most 1,000 users, so it can have fewer entries than `$top`, even none.",
  query,
  answers: { 200: { description: "Users, sorted by id.", headers: ["link"], schema: z.array(userSummary) } },
  handle: async ({ query: { otpkey, $unused_since: unusedSince, ...page } }, context: AuthContext, { call }) => {
    const { users, coreUrl, now } = context;
    const attributes = new Map(otherParameters(call, query, name => name.startsWith("$")));
    requirePast("$unused_since", unusedSince, now());
    const prefix = otpkey === undefined ? undefined : parsePrefix(otpkey);
    // No OTP key can have the prefix, so no user matches.
    if (otpkey !== undefined && prefix === undefined) return ok([]);
    const filter = { attributes, ...omitUndefined({ otpkey: prefix, unusedSince }) };
    return listReply(call, page, `${coreUrl(call.url)}/users`, range => users.list(range, filter));
  },
});
