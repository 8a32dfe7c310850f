import { timingSafeEqual } from "node:crypto";
import type { KeySecret } from "./contract.ts";

/** Serializes an OTP key's secret to the text that is sealed (G8): in hex, with a point before the private id. */
export const secretToText = ({ secret, privateId }: KeySecret): string =>
  [secret, ...(privateId === undefined ? [] : [privateId])].map(bytes => Buffer.from(bytes).toString("hex")).join(".");

/** Parses a text of `secretToText`. Throws for any other text; the message does not quote it. */
export function secretFromText(text: string): KeySecret {
  if (!/^([0-9a-f]{2})+(\.([0-9a-f]{2})+)?$/.test(text)) throw new Error("The secret of an OTP key is malformed");
  const [secret = nothing, privateId] = text.split(".").map(hex => new Uint8Array(Buffer.from(hex, "hex")));
  return { secret, ...(privateId && { privateId }) };
}

/** Returns whether two secrets are equal, in constant time. */
export const sameSecret = (one: KeySecret, other: KeySecret): boolean =>
  sameBytes(one.secret, other.secret) && sameBytes(one.privateId ?? nothing, other.privateId ?? nothing);

const nothing = new Uint8Array();

const sameBytes = (one: Uint8Array, other: Uint8Array): boolean =>
  one.length === other.length && timingSafeEqual(one, other);

/** Returns the context of an OTP key's sealed secret. */
export const secretContext = (prefix: string) => ({ table: "otpkeys", row: `${prefix}/key`, purpose: "otp-secret" });
