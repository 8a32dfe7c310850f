import * as z from "zod";
import { readShipmentV1, shipmentStatusV1 } from "../../../lib/connector/api/v1/read-shipment.ts";
import { securityKeysOf } from "../../../lib/connector/model/loaded-request.ts";
import { isSameStatus, shipmentStatusOf } from "../../../lib/connector/model/shipment.ts";
import { Fault } from "../../../lib/platform/fault.ts";
import { ok } from "../../../lib/platform/http/call.ts";
import { endpoint } from "../../../lib/platform/http/endpoint.ts";
import type { ConnectorContext } from "../context.ts";

/** Specification section 2, shipment status; decisions C2, C9. */
export const getShipment = endpoint({
  routes: ["GET /v1/fpr/shipments/{shipment_id}"],
  access: "caller",
  role: "read",
  tag: "Version 1",
  summary: "Read the state of a shipment",
  description:
    "Returns the state of the shipment. It is done when its state is `complete`. After an error `error_kind` and " +
    "`error_message` say what is wrong.",
  params: z.lazy(() => z.object({ shipment_id: z.string().meta({ description: "The delivery service's id." }) })),
  answers: { 200: { description: "The current shipment.", schema: shipmentStatusV1 } },
  handle: async ({ params }, { requests, now }: ConnectorContext) => {
    const stored = await requests.findShipment(params.shipment_id);
    const loaded = stored && (await requests.load(stored.requestId));
    if (loaded === undefined || loaded.request.value.isArchived === true)
      throw new Fault("not_found", "There is no such shipment.");
    const keys = securityKeysOf(loaded);
    // The request's rows decide. A record that says otherwise was left by a crash, or is being written.
    if (!isSameStatus(stored ?? {}, shipmentStatusOf(loaded.request.value, keys)))
      await requests.updateShipment(loaded);
    return ok(readShipmentV1(params.shipment_id, loaded.request.value, keys, now()));
  },
});
