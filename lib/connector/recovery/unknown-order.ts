import { PeerFailure } from "../../peers/peer-failure.ts";
import { between, hours, type Instant, minutes, plus } from "../../time.ts";
import type { ConnectorDeps, LoadedRequest } from "../deps.ts";
import type { Delivery } from "../model/request.ts";
import { referenceOf } from "../model/shipment.ts";
import { isTerminal } from "../model/states.ts";
import type { DeliveryShipment } from "../peers/delivery-wire.ts";
import { answeredShipments } from "./answered-shipments.ts";

/**
 * The answers "unknown" after which an order intent that a crash has left ends, and the time over which they must be spread. The first look-up
 * comes after `reconcileAfterMs`, when no call is running any more, and the hour is for a delivery service that accepts an order late or
 * lists it late: an order that exists would be lost.
 */
const unknown = { answers: 3, forMs: hours(1) } as const;

/** Returns the delivery with one more answer of the delivery service that it does not know the order. */
export const withUnknown = (delivery: Delivery | undefined, now: Instant): Delivery => ({
  ...delivery,
  missing: { count: (delivery?.missing?.count ?? 0) + 1, since: delivery?.missing?.since ?? now },
});

/** Whether an order intent was left by a crash, and the delivery service has said often enough that it does not know the order. */
export const isNeverMade = ({ isUnanswered, missing }: Delivery = {}, now: Instant): boolean =>
  isUnanswered !== true &&
  missing !== undefined &&
  missing.count >= unknown.answers &&
  between(missing.since, now) >= unknown.forMs;

/**
 * Whether the search of the delivery service finds the shipment of another request, so that it can be believed when it finds none: a token of
 * another organization, or a search that knows no references, would find none of all. True if there is no other shipment to ask for.
 */
export async function findsOthers({ request }: LoadedRequest, deps: ConnectorDeps): Promise<boolean> {
  for await (const other of answeredShipments(new Set([request.value.id]), deps)) {
    const { shipmentId, sentAt = other.createdAt } = other.delivery;
    const found = await deps.delivery
      .findByReference(referenceOf(other), plus(sentAt, -minutes(5)))
      .catch((error: unknown) => {
        if (!(error instanceof PeerFailure)) throw error;
        return error;
      });
    const isFound =
      typeof found === "object" && "shipments" in found && found.shipments.some(each => each.shipmentId === shipmentId);
    if (!isFound) deps.log.warn("search_not_trusted", { otherRequestId: other.id });
    return isFound;
  }
  return true;
}

/** The number of shipments with one reference for which the requests are read. */
const mostDoubtful = 20;

/** Whether each of these shipments, if they are few, is linked to another request for good. */
export async function areOfOthers(
  shipments: readonly DeliveryShipment[],
  requestId: string,
  deps: ConnectorDeps,
): Promise<boolean> {
  if (shipments.length > mostDoubtful) return false;
  for (const { shipmentId } of shipments) {
    const owner = await deps.requests.requestOfShipment(shipmentId);
    if (owner === undefined || owner === requestId || (await isTentative(owner, deps))) return false;
  }
  return true;
}

/** Whether a request waits for the responses of a shipment that is linked tentatively. */
export async function isTentative(requestId: string, { requests }: ConnectorDeps): Promise<boolean> {
  const other = (await requests.load(requestId))?.request.value;
  return other?.delivery?.tentative === true && !isTerminal(other.state);
}
