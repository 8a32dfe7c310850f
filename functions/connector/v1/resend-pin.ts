import * as z from "zod";
import { resendPin } from "../../../lib/connector/pin/resend-pin.ts";
import { Fault } from "../../../lib/platform/fault.ts";
import { noContent } from "../../../lib/platform/http/call.ts";
import { endpoint } from "../../../lib/platform/http/endpoint.ts";
import type { ConnectorContext } from "../context.ts";
import { requestIdPath } from "../request-id.ts";

/** Specification section 4; decisions C1, C14. */
export const resendPinOfRequest = endpoint({
  routes: ["POST /v1/credential-requests/{credential_request_id}/resend-pin"],
  access: "caller",
  role: "support",
  tag: "Version 1",
  summary: "Resend the PIN emails of a credential request",
  description: "Sends the PIN email of every key of the request again, if its PIN is known.",
  params: requestIdPath,
  answers: { 204: { description: "Sent." } },
  refusals: ["conflict", "throttled"],
  handle: async ({ params }, context: ConnectorContext) => {
    await resendPin(params.credential_request_id, context);
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
  params: z.lazy(() => z.object({ shipment_id: z.string().meta({ description: "The delivery service's id." }) })),
  answers: { 204: { description: "Sent." } },
  refusals: ["conflict", "throttled"],
  handle: async ({ params }, context: ConnectorContext) => {
    const requestId = await context.requests.requestOfShipment(params.shipment_id);
    if (requestId === undefined) throw new Fault("not_found", "There is no such shipment.");
    await resendPin(requestId, context, "shipped");
    return noContent;
  },
});
