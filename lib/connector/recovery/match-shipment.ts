import { type LoadedRequest, securityKeysOf } from "../model/loaded-request.ts";
import { shippedItems } from "../model/shipment.ts";
import type { DeliveryShipment } from "../peers/delivery-wire.ts";

/**
 * Whether a shipment that was found by look-up has the recipient, address and items that this request ordered. Ignores letter case and outer
 * spaces, and treats empty as absent (C6).
 */
export function matchesOrder(loaded: LoadedRequest, shipment: DeliveryShipment): boolean {
  const request = loaded.request.value;
  if (request.shipment === undefined) return false;
  const { externalId: _, ...recipient } = request.recipient;
  const items = shippedItems(securityKeysOf(loaded));
  return (
    hasEqualFields(recipient, shipment.recipient) &&
    hasEqualFields(request.shipment.mailingAddress, shipment.mailingAddress) &&
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

const hasEqualFields = <T extends object>(ordered: T, found: Partial<Record<keyof T, string | undefined>>): boolean =>
  (Object.keys({ ...ordered, ...found }) as (keyof T)[]).every(
    name => normalized(ordered[name]) === normalized(found[name]),
  );

const normalized = (text: unknown): string =>
  String(text ?? "")
    .trim()
    .toLowerCase();
