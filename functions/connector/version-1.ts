import { credentialRequestV1, readV1 } from "../../lib/connector/api/v1-credential-request.ts";
import { readShipmentV1, shipmentStatusV1 } from "../../lib/connector/api/v1-shipment.ts";
import { shipmentRecordOf } from "../../lib/connector/model/shipment.ts";
import { loadRequest } from "../../lib/connector/runs/change-request.ts";
import { Fault } from "../../lib/platform/fault.ts";
import { ok } from "../../lib/platform/http/call.ts";
import { endpoint } from "../../lib/platform/http/endpoint.ts";
import { requestIdPath, shipmentIdPath } from "./call-fields.ts";
import type { ConnectorContext } from "./context.ts";

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
  params: shipmentIdPath,
  answers: { 200: { description: "The current shipment.", schema: shipmentStatusV1 } },
  handle: async ({ params }, { requests, now }: ConnectorContext) => {
    const stored = await requests.findShipment(params.shipment_id);
    const loaded = stored && (await requests.load(stored.requestId));
    if (loaded === undefined || loaded.request.isArchived === true)
      throw new Fault("not_found", "There is no such shipment.");
    // The request's rows decide. A record that says otherwise was left by a crash, or is being written.
    if (stored?.errorMessage !== shipmentRecordOf(loaded).errorMessage) await requests.updateShipment(loaded);
    return ok(readShipmentV1(params.shipment_id, loaded, now()));
  },
});

/** Specification section 2, read model of version 1; decisions C2, C3. */
export const getCredentialRequestV1 = endpoint({
  routes: ["GET /v1/credential-requests/{credential_request_id}"],
  access: "caller",
  role: "read",
  tag: "Version 1",
  summary: "Read a credential request",
  description: "Returns the states of the request and of its credentials.",
  params: requestIdPath,
  answers: { 200: { description: "The current request.", schema: credentialRequestV1 } },
  handle: async ({ params }, context: ConnectorContext) => {
    const loaded = await loadRequest(params.credential_request_id, context);
    return ok(readV1(loaded.request, loaded.keys));
  },
});
