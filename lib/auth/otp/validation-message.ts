import { createHmac, timingSafeEqual } from "node:crypto";

/** The parameters of a request or an answer of the validation protocol 2.0, without its signature `h`. */
export type ValidationMessage = Readonly<Record<string, string>>;

/** HMAC-SHA-1 in base64 over the parameters, unescaped, in the order of their names. */
export const signatureOf = (message: ValidationMessage, key: Uint8Array): string =>
  createHmac("sha1", key).update(textOf(message), "utf8").digest("base64");

const textOf = (message: ValidationMessage): string =>
  Object.keys(message)
    .sort()
    .map(name => `${name}=${message[name]}`)
    .join("&");

/**
 * The parameters of an answer whose signature is right, without the signature. Undefined where it is not, or where the text is
 * no answer: what is not signed says nothing, not even "no".
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

/** Compared in constant time. */
export function sameText(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}
