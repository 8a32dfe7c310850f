/** Id of the n-th physical key of a shipment item, `s-01-001`; both count from 0. Version 2 has one key an item. */
export const shipmentKeyId = (item: number, key = 0): string => `s-${padded(item, 2)}-${padded(key, 3)}`;

/** Id of an on-site authenticator, `a-01`, counted from 0. */
export const authenticatorKeyId = (index: number): string => `a-${padded(index, 2)}`;

/** What the enrollment side knows an on-site authenticator by (decision C6, docs/peers/enrollment.md). */
export const enrollmentId = (requestId: string, keyId: string): string => `${requestId}.${keyId}`;

/** The position of a key's shipment item or authenticator in its list. */
export const positionOf = (keyId: string): number => Number(keyId.split("-")[1]) - 1;

function padded(index: number, digits: number): string {
  return String(index + 1).padStart(digits, "0");
}
