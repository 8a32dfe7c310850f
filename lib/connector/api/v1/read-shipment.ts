import * as z from "zod";
import { omitUndefined } from "../../../platform/omit-undefined.ts";
import type { CredentialRequest } from "../../model/request.ts";
import { isOnSite, type SecurityKey } from "../../model/security-key.ts";
import { shipmentStates, shipmentStatusOf } from "../../model/shipment.ts";

/** Version 1 shipment status (specification section 2, decision C9). */
export const shipmentStatusV1 = z.lazy(() =>
  z
    .object({
      shipment_id: z.string().describe("The delivery service's id."),
      shipment_state: z
        .enum([...shipmentStates, "processing"])
        .describe("`processing` while a run works on the shipment at this moment."),
      error_kind: z.literal("GENERAL").optional().describe("Only after a processing error."),
      error_message: z.string().optional().describe("Detail from the delivery service or the IdP."),
    })
    .meta({ id: "ShipmentV1" }),
);

/**
 * The version 1 status of a request's shipment, whichever version made it (decision C4). It is read from the request's
 * rows, not from the shipment's record, which is written after them.
 */
export function readShipmentV1(
  shipmentId: string,
  request: CredentialRequest,
  keys: readonly SecurityKey[],
  now: string,
): z.output<typeof shipmentStatusV1> {
  const { state, errorMessage } = shipmentStatusOf(request, keys);
  const hasLease = [request, ...keys.filter(key => !isOnSite(key))].some(
    ({ lease }) => lease !== undefined && lease.until > now,
  );
  return omitUndefined({
    shipment_id: shipmentId,
    shipment_state: state === "ongoing" && hasLease ? ("processing" as const) : state,
    error_kind: errorMessage === undefined ? undefined : ("GENERAL" as const),
    error_message: errorMessage,
  });
}
