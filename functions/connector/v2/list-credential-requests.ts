import * as z from "zod";
import { evenIfInvalid } from "../../../lib/connector/api/field-rules.ts";
import { listRequests } from "../../../lib/connector/api/v2/list-requests.ts";
import { listedV2, readListedV2 } from "../../../lib/connector/api/v2/read-credential-request.ts";
import { securityKeysOf } from "../../../lib/connector/model/loaded-request.ts";
import { requestStates } from "../../../lib/connector/model/states.ts";
import { endpoint } from "../../../lib/platform/http/endpoint.ts";
import { timeError } from "../../../lib/platform/http/parse/time-field.ts";
import type { ConnectorContext } from "../context.ts";
import { listPosition } from "../list-position.ts";

const maxOfPage = 1000;
const usualPage = 100;
const topError = `must be a whole number from 1 to ${maxOfPage}`;
const notTime = "must be a time in ISO 8601 with its zone, as in 2026-01-31T10:00:00Z, or a date";

const name = () => z.string().min(1, { error: "must not be blank" }).max(255).optional();

const fields = () => ({
  state: z.enum(requestStates).optional().describe("Only requests in this state."),
  customer_reference: name().describe("Only requests whose shipment has this reference, in any letter case."),
  email: name().describe("Only requests whose recipient has this email, in any letter case."),
  external_id: name().describe("Only requests whose recipient has this `external_id`, in any letter case."),
  serial_number: name().describe("Only requests with a security key of this serial number."),
  user_id: name().describe("Only requests with a credential for this user, in any letter case."),
  created_after: z
    .union([z.iso.datetime({ offset: true }), z.iso.datetime({ offset: true, precision: -1 }), z.iso.date()], {
      error: timeError(notTime),
    })
    .transform(text => new Date(text).toISOString())
    // A zone can move a time beyond the year 9999, whose text would sort before every other.
    .refine(time => /^[0-9]/.test(time), { error: notTime })
    .optional()
    .describe("Only requests made later than this time, ISO 8601; a date means its beginning in UTC."),
  $top: z
    .string()
    .regex(/^[0-9]{1,4}$/, { error: topError, abort: true })
    .transform(Number)
    .refine(top => top >= 1 && top <= maxOfPage, { error: topError })
    .meta({ shownAs: { type: "integer", minimum: 1, maximum: maxOfPage } })
    .default(usualPage)
    .describe(`Maximum number of entries of a page, 1 to ${maxOfPage}; ${usualPage} by default.`),
  $skiptoken: listPosition("must be a value from the link to the next page")
    .optional()
    .describe("Where the page begins: from the link to it."),
});

/** A filter that is none would go unnoticed: the list would look filtered and be whole. */
const query = z.lazy(() => {
  const known = z.looseObject(fields());
  const accepted = Object.keys(known.shape).join(", ");
  return known.superRefine((given, context) => {
    for (const name of Object.keys(given).filter(name => !Object.hasOwn(known.shape, name)))
      context.addIssue({ code: "custom", path: [name], message: `is not known: this list accepts ${accepted}` });
  }, evenIfInvalid);
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
  query,
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
    const { requests, next } = await listRequests(filter, { top, after }, context);
    const body = requests.map(loaded => readListedV2(loaded.request.value, securityKeysOf(loaded)));
    if (next === undefined) return { status: 200, body };
    const following = new URLSearchParams(call.url.search);
    following.set("$skiptoken", next);
    const address = `${context.connectorUrl(call.url)}/v2/credential-requests?${following}`;
    return { status: 200, headers: { link: `<${address}>; rel="next"` }, body };
  },
});
