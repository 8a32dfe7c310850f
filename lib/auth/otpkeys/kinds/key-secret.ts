import { timingSafeEqual } from "node:crypto";
import * as z from "zod";
import type { KeySecret } from "./contract.ts";

const hex = z
  .string()
  .regex(/^([0-9a-f]{2})+$/)
  .transform((text): Uint8Array => new Uint8Array(Buffer.from(text, "hex")));
const schema = z.object({ secret: hex, privateId: hex.exactOptional() });

/** Serializes an OTP key's secret to the text that is sealed (G8). */
export const secretToText = ({ secret, privateId }: KeySecret): string =>
  JSON.stringify({ secret: toHex(secret), ...(privateId === undefined ? {} : { privateId: toHex(privateId) }) });

/** Parses a text of `secretToText`. Throws for any other text; the message does not quote it. */
export function secretFromText(text: string): KeySecret {
  try {
    return schema.parse(JSON.parse(text));
  } catch {
    throw new Error("The secret of an OTP key is malformed");
  }
}

/** Returns whether two secrets are equal, in constant time. */
export const sameSecret = (one: KeySecret, other: KeySecret): boolean =>
  sameBytes(one.secret, other.secret) && sameBytes(one.privateId ?? nothing, other.privateId ?? nothing);

const nothing = new Uint8Array();

const sameBytes = (one: Uint8Array, other: Uint8Array): boolean =>
  one.length === other.length && timingSafeEqual(one, other);

const toHex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");

/** Returns the context of an OTP key's sealed secret. */
export const secretContext = (prefix: string) => ({ table: "otpkeys", row: `${prefix}/key`, purpose: "otp-secret" });
