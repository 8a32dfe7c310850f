import { PeerFailure } from "../../platform/peers/peer-failure.ts";
import { minutes, plus } from "../../platform/time.ts";
import type { ConnectorDeps } from "../deps.ts";
import type { LoadedRequest } from "../model/loaded-request.ts";
import { deliveryService } from "../model/peer-names.ts";
import { referenceOf } from "../model/shipment.ts";
import type { DeliveryShipment } from "../peers/delivery-wire.ts";
import { callAndRecord } from "../runs/peer-calls.ts";
import type { Run } from "../runs/run.ts";
import { areLinkedToOthers, isTentative, matchesOrder } from "./unknown-order.ts";

/**
 * Returns the shipments that may be the order of this request: created at most 5 minutes before the order intent, equal
 * in content, and linked to no other request. If the delivery service did not answer, returns none, with its failure.
 * `isContested` means that one more is linked to another request tentatively: its responses will show which of the two
 * requests it belongs to. `isUnknown` means that the delivery service does not know the order: its list is complete,
 * and every shipment in it that may be this order belongs to another request.
 */
export async function findCandidates(
  leased: LoadedRequest,
  sentAt: string,
  run: Run,
  deps: ConnectorDeps,
): Promise<{
  readonly found: readonly DeliveryShipment[];
  readonly isContested?: boolean;
  readonly isUnknown?: boolean;
  readonly failure?: PeerFailure;
}> {
  const request = leased.request.value;
  const earliest = plus(sentAt, -minutes(5));
  const found = await callAndRecord(deliveryService, run, deps, () =>
    deps.delivery.findByReference(referenceOf(request), earliest),
  );
  if (found instanceof PeerFailure) {
    deps.log.warn("look_up_failed", { error: found });
    return { found: [], failure: found };
  }
  if (found === "cannot_tell") return { found: [] };
  const open = found.shipments.filter(
    ({ shipmentId }) => request.delivery?.rejectedShipmentIds?.includes(shipmentId) !== true,
  );
  const matching = open.filter(shipment => (shipment.requestedAt ?? "") > earliest && matchesOrder(leased, shipment));
  const owners = await Promise.all(matching.map(({ shipmentId }) => deps.requests.requestOfShipment(shipmentId)));
  const others = owners.flatMap(owner => (owner === undefined || owner === request.id ? [] : owner));
  const isContested = (await Promise.all(others.map(owner => isTentative(owner, deps)))).includes(true);
  // A shipment with another content or without a time may be this order too, for a service that changes what it stores.
  const doubtful = open.filter(
    shipment =>
      !matching.includes(shipment) &&
      (request.shipment?.customerReference === undefined || (shipment.requestedAt ?? earliest) >= earliest),
  );
  return {
    found: matching.filter((_, index) => !others.includes(owners[index] ?? "")),
    isContested,
    isUnknown:
      found.isComplete &&
      others.length === matching.length &&
      !isContested &&
      (await areLinkedToOthers(doubtful, request.id, deps)),
  };
}
