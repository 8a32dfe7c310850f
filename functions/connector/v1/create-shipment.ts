import { createdShipmentV1, createShipmentBodyV1 } from "../../../lib/connector/api/v1/shipment-body.ts";
import { createOnce } from "../../../lib/connector/create/create-once.ts";
import { endpoint } from "../../../lib/platform/http/endpoint.ts";
import type { ConnectorContext } from "../context.ts";
import { createdHeaders, idempotencyKey } from "../idempotency-key.ts";

/** Specification sections 2 and 4; decisions C5, C6, C11a. */
export const createShipment = endpoint({
  routes: ["POST /v1/fpr/shipments"],
  access: "caller",
  tag: "Version 1",
  summary: "Request keys for one user, programmed and shipped",
  description:
    "Orders keys for one user, which are programmed and shipped, at the default identity provider. Version 2 of " +
    "this call has all options.",
  headers: idempotencyKey,
  body: createShipmentBodyV1,
  answers: {
    201: {
      description: "The shipment is ordered.",
      headers: ["location", "idempotent-replayed"],
      schema: createdShipmentV1,
    },
  },
  refusals: ["conflict", "delivery_refused", "idp_refused"],
  handle: async ({ body, headers }, context: ConnectorContext, { call, caller }) => {
    const once = { caller, idempotencyKey: headers["Idempotency-Key"] };
    const done = await createOnce(body, once, context);
    const location = `${context.connectorUrl(call.url)}/v1/fpr/shipments/${done.shipmentId}`;
    return { status: 201, headers: createdHeaders(location, done), body: { data: { shipment_id: done.shipmentId } } };
  },
});
