import * as z from "zod";
import { isPrefix, parsePrefix, prefixMaxLength } from "../../../../lib/auth/otpkeys/prefix.ts";
import { endpoint } from "../../../../lib/platform/http/endpoint.ts";
import { omitUndefined } from "../../../../lib/platform/omit-undefined.ts";
import type { AuthContext } from "../../context.ts";
import { optionalFlag } from "../../inputs.ts";
import { listReply, notFromLink, otherParameters, paging, pastTime, requirePast } from "../../paging.ts";
import { otpkeySummary } from "../../views.ts";

const query = z.object({
  $top: paging.$top,
  $skiptoken: z
    .string()
    .refine(text => isPrefix(text), { error: notFromLink })
    .optional()
    .describe("Start of the page, from the link to it."),
  enabled: optionalFlag("Only enabled otpkeys, or only disabled ones."),
  stopped: optionalFlag("Only otpkeys that wrong OTPs stopped, or only others."),
  assigned: optionalFlag(
    "Only otpkeys that a user has, or only those of the stock. An assignment that failed half-way counts for an hour.",
  ),
  $prefix: z
    .string()
    .transform(text => parsePrefix(text) ?? "")
    .refine(text => text !== "", { error: `must be 1 to ${prefixMaxLength} letters and digits` })
    .optional()
    .describe("Beginning of the prefix."),
  unused_since: pastTime("Only otpkeys that were created before this time and have had no valid OTP since."),
});

/** Lists OTP keys, all or filtered (A10, A11). */
export const listOtpkeys = endpoint({
  routes: ["GET /otpkeys"],
  access: "caller",
  role: "read",
  tag: "OTP keys",
  summary: "List otpkeys",
  description:
    "Returns id, prefix and state of all OTP keys, or of those that match every filter. With `$top` the list is " +
    'paged: follow the `Link` header with `rel="next"` until there is none. A page of a filtered list examines at ' +
    "most 1,000 OTP keys, so it can have fewer entries than `$top`, even none.",
  query,
  answers: { 200: { description: "OTP keys, sorted by prefix.", headers: ["link"], schema: z.array(otpkeySummary) } },
  handle: (
    { query: { enabled, stopped, assigned, $prefix: beginning, unused_since, ...page } },
    context: AuthContext,
    { call },
  ) => {
    const { otpkeys, coreUrl, now } = context;
    otherParameters(call, query, () => true);
    requirePast("unused_since", unused_since, now());
    const filter = omitUndefined({ enabled, stopped, assigned, beginning, unusedSince: unused_since });
    return listReply(call, page, `${coreUrl(call.url)}/otpkeys`, range => otpkeys.list(range, filter));
  },
});
