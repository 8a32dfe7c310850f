import type { CredentialRequest, SecurityKey } from "./request.ts";

/** Returns the shipped security keys grouped by shipment item, in the order of the request. */
export function shippedItems(keys: readonly SecurityKey[]): readonly (readonly SecurityKey[])[] {
  return [
    ...Map.groupBy(
      keys.filter(key => key.place === "shipment"),
      itemOf,
    ).values(),
  ];
}

/** Returns the customer reference of the order: that of the caller, else the request id. Orders are looked up by it (C6). */
export const referenceOf = (request: CredentialRequest): string => request.shipment?.customerReference ?? request.id;

/** Returns the shipment item of a security key: `s-01-001` and `s-01-002` belong to `s-01`. */
const itemOf = (key: SecurityKey): string => key.id.slice(0, key.id.lastIndexOf("-"));
