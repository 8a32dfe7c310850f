import * as z from "zod";
import { userId } from "../../lib/connector/api/field-rules.ts";
import { listRequests } from "../../lib/connector/api/list-requests.ts";
import {
  credentialRequestV2,
  listedV2,
  readListed,
  readRequest,
} from "../../lib/connector/api/read-credential-request.ts";
import { cancelRequest } from "../../lib/connector/cancel/cancel-request.ts";
import { requestStates } from "../../lib/connector/model/states.ts";
import { loadRequest } from "../../lib/connector/runs/change-request.ts";
import { ok } from "../../lib/platform/http/call.ts";
import { endpoint } from "../../lib/platform/http/endpoint.ts";
import { timeError } from "../../lib/platform/http/time-field.ts";
import { requestIdPath } from "./call-fields.ts";
import type { ConnectorContext } from "./context.ts";
import { filterName, listQuery, pageHeaders } from "./list-page.ts";

/** Specification section 2, read model of version 2. */
export const getCredentialRequest = endpoint({
  routes: ["GET /v2/credential-requests/{credential_request_id}"],
  access: "caller",
  role: "read",
  tag: "Credential requests",
  summary: "Read a credential request with the state of every key and credential",
  description:
    "Returns the state of the request, of every key and of every credential. The states are explained in " +
    "docs/states.md. A request has ended when its state is `complete`, `partial`, `failed` or `cancelled`. " +
    "Reading once in five minutes is often enough: a shipped key takes days.",
  params: requestIdPath,
  answers: { 200: { description: "The current request.", schema: z.object({ data: credentialRequestV2 }) } },
  handle: async ({ params }, context: ConnectorContext, { caller }) => {
    const loaded = await loadRequest(params.credential_request_id, context);
    return ok({ data: readRequest(loaded, caller) });
  },
});

const notTime = "must be a time in ISO 8601 with its zone, as in 2026-01-31T10:00:00Z, or a date";

const filters = () => ({
  state: z.enum(requestStates).optional().describe("Only requests in this state."),
  customer_reference: filterName().describe("Only requests whose shipment has this reference, in any letter case."),
  email: filterName().describe("Only requests whose recipient has this email, in any letter case."),
  external_id: filterName().describe("Only requests whose recipient has this `external_id`, in any letter case."),
  serial_number: filterName().describe("Only requests with a security key of this serial number."),
  user_id: userId().optional().describe("Only requests with a credential for this user, in any letter case."),
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
    const { $top: top, $skiptoken: after, ...filter } = query;
    const { entries, next } = await listRequests(filter, { top, after }, context);
    const body = entries.map(readListed);
    return { status: 200, ...pageHeaders("/v2/credential-requests", next, call, context), body };
  },
});

/** Decision C19. */
export const cancelCredentialRequest = endpoint({
  routes: ["POST /v2/credential-requests/{credential_request_id}/cancel"],
  access: "caller",
  role: "support",
  tag: "Credential requests",
  summary: "Cancel what is not produced yet; a shipment only while the delivery service can still delete it",
  description:
    "Cancels keys that are not produced yet. A shipment can be cancelled only while the delivery service can " +
    "still delete it. Credentials that are active stay active. A repeat for a cancelled request responds 200 and " +
    "changes nothing. Responds 409 if the request has ended otherwise or nothing can be cancelled any more, and 409 " +
    "with `Retry-After` while the request is being created or a job works on it. The " +
    "`error_message` of a 503 says if a job continues the cancel.",
  params: requestIdPath,
  answers: {
    200: { description: "The current request.", schema: z.object({ data: credentialRequestV2 }) },
  },
  refusals: ["conflict"],
  handle: async ({ params }, context: ConnectorContext, { caller }) => {
    const loaded = await cancelRequest(params.credential_request_id, context);
    return ok({ data: readRequest(loaded, caller) });
  },
});
