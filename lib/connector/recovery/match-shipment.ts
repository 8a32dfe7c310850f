import type { LoadedRequest } from "../deps.ts";
import { shippedItems } from "../model/shipment-items.ts";
import type { DeliveryShipment } from "../peers/delivery-wire.ts";

/**
 * Whether a shipment found by look-up is what this request ordered: recipient, address and items are equal (decision C6).
 * Letter case and outer blanks do not count, absent and empty are the same.
 */
export function isOurOrder({ request: { value: request }, keys }: LoadedRequest, shipment: DeliveryShipment): boolean {
  if (request.shipment === undefined) return false;
  const { externalId: _, ...recipient } = request.recipient;
  const items = shippedItems(keys.map(({ value }) => value));
  return (
    equalFields(recipient, shipment.recipient) &&
    equalFields(request.shipment.mailingAddress, shipment.mailingAddress) &&
    items.length === shipment.items.length &&
    items.every((of, index) => {
      const told = shipment.items[index];
      return (
        told?.productId === of[0]?.productId &&
        told?.inventoryProductId === of[0]?.inventoryProductId &&
        told?.quantity === of.length
      );
    })
  );
}

const equalFields = <T extends object>(ours: T, told: Partial<Record<keyof T, string | undefined>>): boolean =>
  (Object.keys({ ...ours, ...told }) as (keyof T)[]).every(name => plain(ours[name]) === plain(told[name]));

const plain = (text: unknown): string =>
  String(text ?? "")
    .trim()
    .toLowerCase();
