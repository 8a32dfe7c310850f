import type { DeliveryOrder, DeliveryShipment, OrderedItem } from "./peers/delivery-wire.ts";
import type { Loaded } from "./ports.ts";
import type { KeyOrder } from "./prepare-keys.ts";
import type { CredentialRequest, Key } from "./request.ts";

/** Keys of one shipment item, in order: `s-01-001` and `s-01-002` are of item `s-01`. */
const itemOf = (key: Key): string => key.id.slice(0, key.id.lastIndexOf("-"));

/** The shipped keys by item, both in the request's order. */
export function shippedItems(keys: readonly Key[]): readonly (readonly Key[])[] {
  return [
    ...Map.groupBy(
      keys.filter(key => key.place === "shipment"),
      itemOf,
    ).values(),
  ];
}

/** What the shipment is known by at the delivery service: the caller's reference, else the request's id (decision C6). */
export const referenceOf = (request: CredentialRequest): string => request.shipment?.customerReference ?? request.id;

/** The order to the delivery service. Throws on a request without a shipment. */
export function orderOf({ request: { value: request }, keys }: Loaded, orders: readonly KeyOrder[]): DeliveryOrder {
  if (request.shipment === undefined) throw new Error("a request without a shipment is not ordered");
  const { externalId: _, ...recipient } = request.recipient;
  const items = shippedItems(keys.map(({ value }) => value)).map((of): OrderedItem => {
    const [first] = of;
    return {
      productId: first?.productId ?? 0,
      inventoryProductId: first?.inventoryProductId ?? 0,
      customizationId: first?.customizationId,
      keyName: first?.name,
      keys: of.map(key => orders.find(({ keyId }) => keyId === key.id) ?? { credentialRequests: [] }),
    };
  });
  return { ...request.shipment, customerReference: referenceOf(request), recipient, items };
}

/**
 * Whether a shipment found by look-up is what this request ordered: recipient, address and items are equal (decision C6).
 * Letter case and outer blanks do not count, absent and empty are the same.
 */
export function isOurOrder({ request: { value: request }, keys }: Loaded, shipment: DeliveryShipment): boolean {
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
