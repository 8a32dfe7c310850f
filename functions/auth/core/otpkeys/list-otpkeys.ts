import * as z from "zod";
import { endpoint } from "../../../../lib/http/endpoint.ts";
import type { AuthContext } from "../../context.ts";
import { filtersOf, listReply, paging } from "../../paging.ts";
import { otpkeySummary } from "../../views.ts";

/** Lists OTP keys (A10). */
export const listOtpkeys = endpoint({
  routes: ["GET /otpkeys"],
  access: "caller",
  summary: "List otpkeys",
  query: z.object(paging),
  answers: { 200: { description: "Otpkeys, sorted by id.", schema: z.array(otpkeySummary) } },
  handle: ({ query }, { otpkeys, coreUrl }: AuthContext, { call }) => {
    filtersOf(call);
    return listReply(call, query, `${coreUrl(call.url)}/otpkeys`, range => otpkeys.list(range));
  },
});
