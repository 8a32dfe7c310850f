import * as z from "zod";
import { listRequests } from "../../../lib/connector/api/v2/list-requests.ts";
import { listedV2, readListed } from "../../../lib/connector/api/v2/read-credential-request.ts";
import { requestStates } from "../../../lib/connector/model/states.ts";
import { endpoint } from "../../../lib/platform/http/endpoint.ts";
import { timeError } from "../../../lib/platform/http/parse/time-field.ts";
import type { ConnectorContext } from "../context.ts";
import { filterName, listQuery, pageHeaders } from "../list-page.ts";

const notTime = "must be a time in ISO 8601 with its zone, as in 2026-01-31T10:00:00Z, or a date";

const filters = () => ({
  state: z.enum(requestStates).optional().describe("Only requests in this state."),
  customer_reference: filterName().describe("Only requests whose shipment has this reference, in any letter case."),
  email: filterName().describe("Only requests whose recipient has this email, in any letter case."),
  external_id: filterName().describe("Only requests whose recipient has this `external_id`, in any letter case."),
  serial_number: filterName().describe("Only requests with a security key of this serial number."),
  user_id: filterName().describe("Only requests with a credential for this user, in any letter case."),
  created_after: z
    .union([z.iso.datetime({ offset: true }), z.iso.datetime({ offset: true, precision: -1 }), z.iso.date()], {
      error: timeError(notTime),
    })
    .transform(text => new Date(text).toISOString())
    // A zone can move a time beyond the year 9999, whose text would sort before every other.
    .refine(time => /^[0-9]/.test(time), { error: notTime })
    .optional()
    .describe("Only requests made later than this time, ISO 8601; a date means its beginning in UTC."),
});

/** Decision C19, paged by decision A11: an operator finds requests that are stuck, and ids that were lost. */
export const listCredentialRequests = endpoint({
  routes: ["GET /v2/credential-requests"],
  access: "caller",
  role: "read",
  tag: "Credential requests",
  summary: "List credential requests, all or those that match every filter",
  description:
    'Returns requests in the order of their creation. Follow the `Link` header with `rel="next"` until there is ' +
    "none, also if a page is short or empty. An unknown filter is refused.",
  query: z.lazy(() => listQuery(filters())),
  answers: {
    200: {
      description: "One page of requests.",
      headers: ["link"],
      schema: z.array(listedV2),
    },
  },
  handle: async ({ query }, context: ConnectorContext, { call }) => {
    const { $top: top, $skiptoken: after, state, email } = query;
    const filter = {
      state,
      email,
      userId: query.user_id,
      externalId: query.external_id,
      customerReference: query.customer_reference,
      serial: query.serial_number,
      createdAfter: query.created_after,
    };
    const { entries, next } = await listRequests(filter, { top, after }, context);
    const body = entries.map(readListed);
    return { status: 200, ...pageHeaders("/v2/credential-requests", next, call, context), body };
  },
});
