import { createRequest } from "../../../lib/connector/create-request.ts";
import { createdShipmentV1, createShipmentBodyV1, createShipmentV1 } from "../../../lib/connector/wire-v1-shipment.ts";
import { endpoint } from "../../../lib/http/endpoint.ts";
import type { ConnectorContext } from "../context.ts";

/** Specification sections 2 and 4; decisions C5, C6, C11a. */
export const createShipment = endpoint({
  routes: ["POST /v1/fpr/shipments"],
  access: "caller",
  summary: "Request keys for one user, programmed and shipped",
  body: createShipmentBodyV1,
  answers: { 201: { description: "The shipment is ordered.", schema: createdShipmentV1 } },
  handle: async ({ body }, context: ConnectorContext) => {
    const { shipmentId } = await createRequest(body, createShipmentV1, context);
    return { status: 201, body: { data: { shipment_id: shipmentId } } };
  },
});
