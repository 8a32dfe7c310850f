import * as z from "zod";
import { parsePrefix } from "../../../../lib/auth/model/prefix.ts";
import type { UserFilter } from "../../../../lib/auth/store.ts";
import { ok } from "../../../../lib/http/call.ts";
import { endpoint } from "../../../../lib/http/endpoint.ts";
import type { AuthContext } from "../../context.ts";
import { filtersOf, listReply, paging } from "../../paging.ts";
import { userSummary } from "../../views.ts";

const query = z
  .object({ otpkey: z.string().optional().describe("Prefix of an otpkey that is assigned to them."), ...paging })
  .describe("Every other name is an attribute's key, with its value.");

/** Specification section 4; decision A11. */
export const listUsers = endpoint({
  routes: ["GET /users"],
  access: "caller",
  summary: "List users, all or those that match every filter: `otpkey`, and attributes by their keys",
  query,
  answers: { 200: { description: "Users in the order of their ids.", schema: z.array(userSummary) } },
  handle: async ({ query }, { users, coreUrl }: AuthContext, { call }) => {
    const filter = filterOf(filtersOf(call));
    if (filter === "nobody") return ok([]);
    return listReply(call, query, `${coreUrl(call.url)}/users`, range => users.list(range, filter));
  },
});

/** The filter that the query names; undefined for none, `nobody` where no key can have the prefix. */
function filterOf(named: ReturnType<typeof filtersOf>): UserFilter | undefined | "nobody" {
  if (named.length === 0) return undefined;
  const given = named.find(([name]) => name === "otpkey")?.[1];
  const otpkey = given === undefined ? undefined : parsePrefix(given);
  if (given !== undefined && otpkey === undefined) return "nobody";
  const attributes = new Map(named.filter(([name]) => name !== "otpkey"));
  return { attributes, ...(otpkey !== undefined && { otpkey }) };
}
