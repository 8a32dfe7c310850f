import * as z from "zod";
import { endpoint } from "../../../lib/http/endpoint.ts";
import type { AuthContext } from "../context.ts";
import { listReply, pageOf } from "../paging.ts";
import { otpkeySummary } from "../views.ts";

/** Beyond the specification: decision A10. */
export const listOtpkeys = endpoint({
  routes: ["GET /otpkeys"],
  access: "caller",
  summary: "List otpkeys",
  query: z.record(z.string(), z.string()).meta({ description: "`$top` and `$skiptoken` page the list." }),
  answers: { 200: { description: "Otpkeys in the order of their ids.", schema: z.array(otpkeySummary) } },
  handle: ({ query }, { otpkeys, coreUrl }: AuthContext, { call }) =>
    listReply(call, pageOf(query), coreUrl(call.url), range => otpkeys.list(range)),
});
