import { createHash } from "node:crypto";

/** Returns the id of a security key of a shipment item, such as `s-01-001`. Both arguments count from 0. Version 2 has one key for each item. */
export const shipmentKeyId = (item: number, key = 0): string => `s-${padded(item, 2)}-${padded(key, 3)}`;

/** Returns the id of an on-site authenticator, such as `a-01`. `index` counts from 0. */
export const authenticatorKeyId = (index: number): string => `a-${padded(index, 2)}`;

/** Returns the id of an on-site authenticator at the pre-registration API (docs/peers/enrollment.md). */
export const enrollmentId = (requestId: string, keyId: string): string => `${requestId}.${keyId}`;

/** Returns the position of a security key's shipment item or authenticator in its list, from 0. */
export const itemIndex = (keyId: string): number => Number(keyId.split("-")[1]) - 1;

function padded(index: number, digits: number): string {
  return String(index + 1).padStart(digits, "0");
}

/** Returns a GUID that is derived from a text. It is the same for the same text, also after a crash and on another host. */
export const derivedGuid = (text: string): string =>
  createHash("sha256")
    .update(text)
    .digest("hex")
    .replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12}).*$/, "$1-$2-8$3-8$4-$5");
