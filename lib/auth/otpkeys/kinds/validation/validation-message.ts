import { createHmac, timingSafeEqual } from "node:crypto";

/** The parameters of a request or response of the validation protocol 2.0, without its signature `h`. */
export type ValidationMessage = Readonly<Record<string, string>>;

/** Returns the HMAC-SHA-1 in base64 of the unescaped parameters, sorted by name. */
export const signatureOf = (message: ValidationMessage, key: Uint8Array): string =>
  createHmac("sha1", key).update(textOf(message), "utf8").digest("base64");

const textOf = (message: ValidationMessage): string =>
  Object.keys(message)
    .sort()
    .map(name => `${name}=${message[name]}`)
    .join("&");

/**
 * Parses a response and checks its signature. Returns undefined for a wrong signature or a malformed text: an unsigned response
 * is no verdict, not even a negative one.
 */
export function readSigned(text: string, key: Uint8Array): ValidationMessage | undefined {
  const pairs = text
    .split("\n")
    .map(line => line.trim())
    .filter(line => line !== "")
    .map(line => /^([a-z]+)=(.*)$/.exec(line)?.slice(1) ?? []);
  const message = Object.fromEntries(pairs.map(([name = "", value = ""]) => [name, value]));
  if (Object.keys(message).length !== pairs.length) return undefined;
  const { h, ...rest } = message;
  return h !== undefined && sameText(h, signatureOf(rest, key)) ? rest : undefined;
}

/** Compares two texts in constant time. */
export function sameText(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}
