import { PeerFailure } from "../../platform/peer-failure.ts";
import { between, hours, type Instant, minutes, plus } from "../../platform/time.ts";
import type { ConnectorDeps } from "../deps.ts";
import type { LoadedRequest, RequestValues } from "../model/loaded-request.ts";
import { deliveryService } from "../model/peer-names.ts";
import type { CredentialRequest, Delivery } from "../model/request.ts";
import { referenceOf, shippedItems } from "../model/shipment.ts";
import { isTerminal } from "../model/states.ts";
import type { DeliveryShipment } from "../peers/delivery-shipment.ts";
import { addressBody, recipientBody } from "../peers/delivery-wire.ts";
import { callInTurn, notCalled, type Run } from "../runs/run.ts";
import { answeredShipments } from "./other-shipments.ts";

/** The earliest time at which the shipment of an order intent was created: clocks differ. */
const earliestOf = (sentAt: Instant): Instant => plus(sentAt, -minutes(5));

/** Returns the shipments with the reference of a request that were created since its order intent. */
export const findByReference = (request: CredentialRequest, sentAt: Instant, { delivery }: ConnectorDeps) =>
  delivery.findByReference(referenceOf(request), earliestOf(sentAt));

/**
 * Returns the shipments that may be the order of this request: created at most 5 minutes before the order intent, equal
 * in content, and linked to no other request. `isContested` means that one more is linked to another request
 * tentatively: its responses will show which of the two requests it belongs to. `isUnknown` means that the delivery
 * service does not know the order: its list is complete, and every shipment in it that may be this order belongs to
 * another request.
 * @param found undefined if the delivery service did not answer
 */
export async function findCandidates(
  { request, keys }: LoadedRequest,
  found: Awaited<ReturnType<typeof findByReference>> | undefined,
  sentAt: Instant,
  deps: ConnectorDeps,
): Promise<{
  readonly candidates: readonly DeliveryShipment[];
  readonly isContested: boolean;
  readonly isUnknown: boolean;
}> {
  if (found === undefined || found === "cannot_tell") return { candidates: [], isContested: false, isUnknown: false };
  const earliest = earliestOf(sentAt);
  const rejected = request.delivery?.rejectedShipmentIds ?? [];
  const open = found.shipments.filter(({ shipmentId }) => !rejected.includes(shipmentId));
  const matching = open.filter(
    shipment => (shipment.requestedAt ?? "") > earliest && matchesOrder({ request, keys }, shipment),
  );
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
    candidates: matching.filter((_, index) => !others.includes(owners[index] ?? "")),
    isContested,
    isUnknown:
      found.isComplete &&
      others.length === matching.length &&
      !isContested &&
      (await areLinkedToOthers(doubtful, request.id, deps)),
  };
}

/**
 * The number of look-ups that did not know the order, and the minimum time from the first to the last, after which an
 * order intent that a crash has left ends. The first look-up comes after `reconcileAfterMs`, when no call is running
 * any more. The hour is for a delivery service that accepts or lists an order late: ending earlier would lose an order
 * that exists.
 */
const minUnknown = { count: 3, ms: hours(1) } as const;

/** Returns the delivery with one more look-up that did not know the order. */
export const withUnknown = (delivery: Delivery | undefined, now: Instant): Delivery => ({
  ...delivery,
  missing: { count: (delivery?.missing?.count ?? 0) + 1, since: delivery?.missing?.since ?? now },
});

/** Whether an order intent was left by a crash, and enough look-ups did not know the order. */
export const isNeverOrdered = ({ isUnanswered, missing }: Delivery = {}, now: Instant): boolean =>
  isUnanswered !== true &&
  missing !== undefined &&
  missing.count >= minUnknown.count &&
  between(missing.since, now) >= minUnknown.ms;

/**
 * Whether the search of the delivery service finds the shipment of another request. If not, an empty result proves
 * nothing: the token may be of another organization, or the search may not support references. True if there is no
 * other shipment to search for.
 */
export async function canFindOthers({ request }: LoadedRequest, run: Run): Promise<boolean> {
  for await (const other of answeredShipments([request.id], run)) {
    const { shipment, sentAt = other.createdAt } = other.delivery;
    const found = await callInTurn(deliveryService, run, () => findByReference(other, sentAt, run));
    if (found === notCalled) return false;
    const error = found instanceof PeerFailure ? found : undefined;
    const shipments = typeof found === "object" && "shipments" in found ? found.shipments : [];
    const isFound = shipments.some(each => each.shipmentId === shipment.id);
    if (!isFound) run.log.warn("search_not_trusted", { otherRequestId: other.id, ...(error && { error }) });
    return isFound;
  }
  return true;
}

/** The maximum number of shipments whose requests are read. */
const maxShipments = 20;

/** Whether each shipment is linked to another request, not tentatively. False for more than 20, which are not read. */
async function areLinkedToOthers(
  shipments: readonly DeliveryShipment[],
  requestId: string,
  deps: ConnectorDeps,
): Promise<boolean> {
  if (shipments.length > maxShipments) return false;
  for (const { shipmentId } of shipments) {
    const owner = await deps.requests.requestOfShipment(shipmentId);
    if (owner === undefined || owner === requestId || (await isTentative(owner, deps))) return false;
  }
  return true;
}

/** Whether the shipment of a request is linked tentatively, and the request is open. */
async function isTentative(requestId: string, { requests }: ConnectorDeps): Promise<boolean> {
  const other = (await requests.load(requestId))?.request;
  return other?.delivery?.shipment?.tentative === true && !isTerminal(other.state);
}

/**
 * Whether a shipment that was found by look-up has the recipient, address and items that this request ordered. Ignores
 * letter case and outer spaces, and treats empty as absent (C6).
 */
export function matchesOrder({ request, keys }: RequestValues, shipment: DeliveryShipment): boolean {
  if (request.shipment === undefined) return false;
  const items = shippedItems(keys);
  return (
    hasEqualFields(recipientBody(request.recipient), shipment.recipient) &&
    hasEqualFields(addressBody(request.shipment.mailingAddress), shipment.mailingAddress) &&
    items.length === shipment.items.length &&
    items.every((securityKeys, index) => {
      const found = shipment.items[index];
      return (
        found?.productId === securityKeys[0]?.productId &&
        found?.inventoryProductId === securityKeys[0]?.inventoryProductId &&
        found?.quantity === securityKeys.length
      );
    })
  );
}

const hasEqualFields = (ordered: object, found: Readonly<Record<string, unknown>>): boolean =>
  Object.entries(ordered).every(([name, value]) => normalized(value) === normalized(found[name]));

const normalized = (text: unknown): string =>
  String(text ?? "")
    .trim()
    .toLowerCase();
