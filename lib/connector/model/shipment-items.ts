import type { CredentialRequest, SecurityKey } from "./request.ts";

/** The shipped keys by item, both in the request's order. */
export function shippedItems(keys: readonly SecurityKey[]): readonly (readonly SecurityKey[])[] {
  return [
    ...Map.groupBy(
      keys.filter(key => key.place === "shipment"),
      itemOf,
    ).values(),
  ];
}

/** What the shipment is known by at the delivery service: the caller's reference, else the request's id (decision C6). */
export const referenceOf = (request: CredentialRequest): string => request.shipment?.customerReference ?? request.id;

/** Keys of one shipment item, in order: `s-01-001` and `s-01-002` are of item `s-01`. */
const itemOf = (key: SecurityKey): string => key.id.slice(0, key.id.lastIndexOf("-"));
