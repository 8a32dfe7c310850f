import * as z from "zod";
import { resendPin as resend } from "../../lib/connector/pin/resend-pin.ts";
import { Fault } from "../../lib/platform/fault.ts";
import { noContent, ok } from "../../lib/platform/http/call.ts";
import { endpoint } from "../../lib/platform/http/endpoint.ts";
import { noParameters, requestIdPath, shipmentIdPath } from "./call-fields.ts";
import type { ConnectorContext } from "./context.ts";

const unsentKeyV2 = z.lazy(() =>
  z.object({
    key_id: z.string().describe("Id of the security key."),
    error_message: z.string().describe("Why its email is not known to be sent, and whether a job sends it."),
  }),
);
const resentV2 = z.lazy(() =>
  z.object({
    data: z.object({
      sent: z.int().min(0).describe("Number of emails sent."),
      unsent: z.array(unsentKeyV2).describe("The other keys that have a PIN to send, also if a job sends their email."),
    }),
  }),
);

/** Sends the PIN emails of a request again (specification section 4; decisions C1, C2, C14). */
export const resendPin = endpoint({
  routes: ["POST /v2/credential-requests/{credential_request_id}/resend-pin"],
  access: "caller",
  role: "support",
  tag: "Credential requests",
  summary: "Resend the PIN email of every key that has a PIN response",
  description:
    "Sends the PIN email of every key of the request again, if its PIN is known. Responds 409 with the reason " +
    "if there is no PIN to send, 429 if the emails were sent too often, and 503 if nothing was sent and no email is " +
    "due. An email that failed or may have been sent is left to a job, and its key named in `unsent`: do not repeat.",
  params: requestIdPath,
  answers: { 200: { description: "What was sent.", schema: resentV2 } },
  refusals: ["conflict", "throttled"],
  handle: async ({ params }, context: ConnectorContext) => {
    const { sent, unsent } = await resend(params.credential_request_id, context);
    return ok({
      data: { sent, unsent: unsent.map(({ keyId, reason }) => ({ key_id: keyId, error_message: reason })) },
    });
  },
});

/** Specification section 4; decisions C1, C14. */
export const resendPinOfRequest = endpoint({
  routes: ["POST /v1/credential-requests/{credential_request_id}/resend-pin"],
  access: "caller",
  role: "support",
  tag: "Version 1",
  summary: "Resend the PIN emails of a credential request",
  description: "Sends the PIN email of every key of the request again, if its PIN is known.",
  params: requestIdPath,
  answers: { 204: { description: "Done." } },
  refusals: ["conflict", "throttled"],
  handle: async ({ params }, context: ConnectorContext) => {
    await resend(params.credential_request_id, context);
    return noContent;
  },
});

/** Of a mixed request the shipped keys alone (specification section 4); decisions C1, C14. */
export const resendPinOfShipment = endpoint({
  routes: ["GET /v1/operations/resend-pin/{shipment_id}"],
  access: "caller",
  role: "support",
  tag: "Version 1",
  summary: "Resend the PIN emails of a shipment",
  description: "Sends the PIN email of every shipped key again, if its PIN is known.",
  params: shipmentIdPath,
  query: noParameters,
  answers: { 204: { description: "Done." } },
  refusals: ["conflict", "throttled"],
  handle: async ({ params }, context: ConnectorContext) => {
    const requestId = await context.requests.requestOfShipment(params.shipment_id);
    if (requestId === undefined) throw new Fault("not_found", "There is no such shipment.");
    await resend(requestId, context, "shipped");
    return noContent;
  },
});
