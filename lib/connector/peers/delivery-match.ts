import type { DeliveryOrder, DeliveryShipment } from "./delivery-wire.ts";

/**
 * Whether a shipment found by its reference may be the one ordered: same recipient, address and items (decision C6). Case and
 * spaces do not count, as the service may write an address its own way; nor do signs in a telephone number.
 */
export function isSameOrder(shipment: DeliveryShipment, order: DeliveryOrder): boolean {
  const { telephone, ...recipient } = order.recipient;
  return (
    sameTexts(shipment.recipient, recipient) &&
    digits(shipment.recipient.telephone) === digits(telephone) &&
    sameTexts(shipment.mailingAddress, order.mailingAddress) &&
    shipment.items.length === order.items.length &&
    order.items.every((item, at) => {
      const told = shipment.items[at];
      return (
        told?.productId === item.productId &&
        told.inventoryProductId === item.inventoryProductId &&
        told.quantity === item.keys.length
      );
    })
  );
}

const sameTexts = <Names extends string>(
  told: { readonly [Name in Names]?: string | undefined },
  ordered: { readonly [Name in Names]?: string | undefined },
): boolean => (Object.keys(ordered) as Names[]).every(name => folded(told[name]) === folded(ordered[name]));

const folded = (text = "") => text.normalize("NFC").trim().replace(/\s+/g, " ").toLowerCase();
const digits = (text = "") => text.replace(/\D/g, "");
