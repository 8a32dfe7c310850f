import { type Instant, minutes, plus } from "../../platform/time.ts";
import type { ConnectorDeps } from "../deps.ts";
import type { LoadedRequest, RequestValues } from "../model/loaded-request.ts";
import type { CredentialRequest } from "../model/request.ts";
import { referenceOf, shippedItems } from "../model/shipment.ts";
import { isTerminal } from "../model/states.ts";
import type { DeliveryShipment } from "../peers/delivery-shipment.ts";
import { addressBody, recipientBody } from "../peers/delivery-wire.ts";

/** The earliest time at which the shipment of an order intent was created: clocks differ. */
const earliestOf = (sentAt: Instant): Instant => plus(sentAt, -minutes(5));

/** Returns the shipments with the reference of a request that were created since its order intent. */
export const findByReference = (request: CredentialRequest, sentAt: Instant, { delivery }: ConnectorDeps) =>
  delivery.findByReference(referenceOf(request), earliestOf(sentAt));

/**
 * Returns the shipments that may be the order of this request: created at most 5 minutes before the order intent, equal
 * in content, and linked to no other request. `isContested` means that one more is linked to another request
 * tentatively: its responses will show which of the two requests it belongs to.
 * @param found the shipments with the reference of the request
 */
export async function findCandidates(
  { request, keys }: LoadedRequest,
  found: readonly DeliveryShipment[],
  sentAt: Instant,
  deps: ConnectorDeps,
): Promise<{ readonly candidates: readonly DeliveryShipment[]; readonly isContested: boolean }> {
  const rejected = request.delivery?.rejectedShipmentIds ?? [];
  const matching = found.filter(
    shipment =>
      !rejected.includes(shipment.shipmentId) &&
      (shipment.requestedAt ?? "") > earliestOf(sentAt) &&
      matchesOrder({ request, keys }, shipment),
  );
  const owners = await Promise.all(matching.map(({ shipmentId }) => deps.requests.requestOfShipment(shipmentId)));
  const others = owners.flatMap(owner => (owner === undefined || owner === request.id ? [] : owner));
  return {
    candidates: matching.filter((_, index) => !others.includes(owners[index] ?? "")),
    isContested: (await Promise.all(others.map(owner => isTentative(owner, deps)))).includes(true),
  };
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
