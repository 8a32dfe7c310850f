import * as z from "zod";
import { userId } from "../../lib/connector/api/field-rules.ts";
import {
  listSecurityKeys as list,
  registerColumns,
  registeredKeyV2,
} from "../../lib/connector/api/list-security-keys.ts";
import { credentialState } from "../../lib/connector/api/read-security-key.ts";
import type { Call } from "../../lib/platform/http/call.ts";
import { toCsv } from "../../lib/platform/http/csv.ts";
import { endpoint } from "../../lib/platform/http/endpoint.ts";
import type { ConnectorContext } from "./context.ts";
import { filterName, listQuery, pageHeaders } from "./list-page.ts";

const filters = () => ({
  serial_number: filterName().describe("Only keys with this serial number."),
  user_id: userId().optional().describe("Only credentials for this user, in any letter case."),
  state: credentialState.optional().describe("Only credentials in this state."),
  aaguid: z.guid({ error: "must be a UUID" }).optional().describe("Only keys of this model."),
});

/** Whether the caller accepts CSV by name. With the weight 0 it does not (RFC 9110 section 12.4.2). */
const wantsCsv = ({ headers }: Call): boolean =>
  (headers.get("accept") ?? "").split(",").some(range => {
    const [type, ...parameters] = range.split(";").map(part => part.trim().toLowerCase());
    return type === "text/csv" && !parameters.some(parameter => /^q=0(?:\.0{0,3})?$/.test(parameter));
  });

/** Returns the security keys of an organization, also after the clean-up of their requests (C22). */
export const listSecurityKeys = endpoint({
  routes: ["GET /v2/security-keys"],
  access: "caller",
  role: "read",
  tag: "Security keys",
  summary: "List security keys, all or those that match every filter",
  description:
    "Returns the register of security keys in the order of their requests, with an entry for each credential. It has " +
    "the keys of requests that were deleted by the clean-up too, if an identity provider has registered a credential of " +
    'them. Follow the `Link` header with `rel="next"` until there is none, also if a page is short or empty: a page has ' +
    "all entries of a request or none, so the keys of one large request can make it longer than `$top`. The filter " +
    "`state` alone reads every key, 200 requests for a page. With `Accept: text/csv` the page is CSV with a header line; " +
    "cells that a spreadsheet would take for a formula begin with an apostrophe.",
  query: z.lazy(() => listQuery(filters())),
  answers: {
    200: {
      description: "One page of the register.",
      headers: ["link"],
      schema: z.array(registeredKeyV2),
      csv: true,
    },
  },
  handle: async ({ query }, context: ConnectorContext, { call }) => {
    const { $top: top, $skiptoken: after, ...filter } = query;
    const { entries, next } = await list(filter, { top, after }, context);
    const page = { status: 200, ...pageHeaders("/v2/security-keys", next, call, context) };
    return wantsCsv(call) ? { ...page, csv: toCsv(registerColumns(), entries) } : { ...page, body: entries };
  },
});
