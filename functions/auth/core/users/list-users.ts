import * as z from "zod";
import { parsePrefix } from "../../../../lib/auth/model/prefix.ts";
import type { UserFilter } from "../../../../lib/auth/store.ts";
import { ok } from "../../../../lib/http/call.ts";
import { endpoint } from "../../../../lib/http/endpoint.ts";
import type { AuthContext } from "../../context.ts";
import { filtersOf, listReply, paging } from "../../paging.ts";
import { userSummary } from "../../views.ts";

const query = z
  .object({ otpkey: z.string().optional().describe("Prefix of an assigned otpkey."), ...paging })
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
    'list is paged: follow the `Link` header with `rel="next"` until there is none.',
  query,
  answers: { 200: { description: "Users, sorted by id.", headers: ["link"], schema: z.array(userSummary) } },
  handle: async ({ query }, { users, coreUrl }: AuthContext, { call }) => {
    const filter = filterOf(filtersOf(call));
    if (filter === "no_match") return ok([]);
    return listReply(call, query, `${coreUrl(call.url)}/users`, range => users.list(range, filter));
  },
});

/** Returns the filter of the query: undefined if there is none, `no_match` if no OTP key can have the prefix. */
function filterOf(parameters: ReturnType<typeof filtersOf>): UserFilter | undefined | "no_match" {
  if (parameters.length === 0) return undefined;
  const given = parameters.find(([name]) => name === "otpkey")?.[1];
  const otpkey = given === undefined ? undefined : parsePrefix(given);
  if (given !== undefined && otpkey === undefined) return "no_match";
  const attributes = new Map(parameters.filter(([name]) => name !== "otpkey"));
  return { attributes, ...(otpkey !== undefined && { otpkey }) };
}
