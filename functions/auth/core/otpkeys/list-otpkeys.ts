import * as z from "zod";
import { endpoint } from "../../../../lib/http/endpoint.ts";
import type { AuthContext } from "../../context.ts";
import { listReply, paging, rejectUnknownOptions } from "../../paging.ts";
import { otpkeySummary } from "../../views.ts";

/** Lists OTP keys (A10). */
export const listOtpkeys = endpoint({
  routes: ["GET /otpkeys"],
  access: "caller",
  tag: "OTP keys",
  summary: "List otpkeys",
  description:
    "Returns id, prefix and state of all OTP keys. With `$top` the list is paged: follow the `Link` header with " +
    '`rel="next"` until there is none.',
  query: z.object(paging),
  answers: { 200: { description: "OTP keys, sorted by id.", headers: ["link"], schema: z.array(otpkeySummary) } },
  handle: ({ query }, { otpkeys, coreUrl }: AuthContext, { call }) => {
    rejectUnknownOptions(call);
    return listReply(call, query, `${coreUrl(call.url)}/otpkeys`, range => otpkeys.list(range));
  },
});
