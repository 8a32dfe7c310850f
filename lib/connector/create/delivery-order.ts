import type { LoadedRequest } from "../deps.ts";
import { referenceOf, shippedItems } from "../model/shipment-items.ts";
import type { DeliveryOrder, OrderedItem } from "../peers/delivery-wire.ts";
import type { KeyRequests } from "./encrypt-key-requests.ts";

/** The order to the delivery service. Throws on a request without a shipment. */
export function orderOf(
  { request: { value: request }, keys }: LoadedRequest,
  orders: readonly KeyRequests[],
): DeliveryOrder {
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
