import * as z from "zod";
import type { UserFilter } from "../../../lib/auth/ports.ts";
import { parsePrefix } from "../../../lib/auth/prefix.ts";
import { ok } from "../../../lib/http/call.ts";
import { endpoint } from "../../../lib/http/endpoint.ts";
import type { AuthContext } from "../context.ts";
import { listReply, pageOf } from "../paging.ts";
import { userSummary } from "../views.ts";

const query = z.record(z.string(), z.string()).meta({
  description:
    "`otpkey`: prefix of an assigned key; `$top`, `$skiptoken`: paging; every other name: an attribute's key and its value.",
});

/** Specification section 4; decision A11. */
export const listUsers = endpoint({
  routes: ["GET /users"],
  access: "caller",
  summary: "List users, all or those that match every filter",
  query,
  answers: { 200: { description: "Users in the order of their ids.", schema: z.array(userSummary) } },
  handle: async ({ query }, { users, coreUrl }: AuthContext, { call }) => {
    const page = pageOf(query);
    const filter = filterOf(query);
    if (filter === "nobody") return ok([]);
    return listReply(call, page, coreUrl(call.url), range => users.list(range, filter));
  },
});

/** The filter that the query names; undefined for none, `nobody` where no key can have the prefix. */
function filterOf(query: Readonly<Record<string, string>>): UserFilter | undefined | "nobody" {
  const named = Object.entries(query).filter(([name]) => !name.startsWith("$"));
  if (named.length === 0) return undefined;
  const { otpkey: given } = query;
  const otpkey = given === undefined ? undefined : parsePrefix(given);
  if (given !== undefined && otpkey === undefined) return "nobody";
  const attributes = new Map(named.filter(([name]) => name !== "otpkey"));
  return { attributes, ...(otpkey !== undefined && { otpkey }) };
}
