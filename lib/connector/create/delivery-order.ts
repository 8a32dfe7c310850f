import { type LoadedRequest, securityKeysOf } from "../model/loaded-request.ts";
import { referenceOf, shippedItems } from "../model/shipment.ts";
import type { DeliveryOrder, OrderedItem } from "../peers/delivery-wire.ts";
import type { EncryptedRequests } from "./encrypt-key-requests.ts";

/** Returns the order for the delivery service. Throws if the request has no shipment. */
export function deliveryOrderOf(loaded: LoadedRequest, orders: readonly EncryptedRequests[]): DeliveryOrder {
  const request = loaded.request.value;
  if (request.shipment === undefined) throw new Error("a request without a shipment is not ordered");
  const { externalId: _, ...recipient } = request.recipient;
  const items = shippedItems(securityKeysOf(loaded)).map((securityKeys): OrderedItem => {
    const [first] = securityKeys;
    return {
      productId: first?.productId ?? 0,
      inventoryProductId: first?.inventoryProductId ?? 0,
      customizationId: first?.customizationId,
      keyName: first?.name,
      keys: securityKeys.map(({ id }) => orders.find(({ keyId }) => keyId === id) ?? { credentialRequests: [] }),
    };
  });
  return { ...request.shipment, customerReference: referenceOf(request), recipient, items };
}
