import { base32nopad } from "@scure/base";
import { trimEnd } from "../../../platform/text.ts";
import type { CodeFormat } from "./contract.ts";

const alphabet = "cbdefghijklnrtuv";

/** Modhex: hexadecimal digits as letters that have the same position on most keyboard layouts. */
export const modhexPattern = /^[cbdefghijklnrtuv]*$/;

/** The block at the end of an OTP of Yubico (A7). Kinds share it: formats are compared by identity. */
export const modhexCode: CodeFormat = { length: 32, alphabet: "modhex" };

/** Decodes modhex to bytes. @param text matches `modhexPattern` and has an even length */
export const modhexToBytes = (text: string): Uint8Array => new Uint8Array(Buffer.from(modhexToHex(text), "hex"));

/** Converts modhex to hexadecimal digits. @param text matches `modhexPattern` */
export const modhexToHex = (text: string): string =>
  [...text].map(letter => alphabet.indexOf(letter).toString(16)).join("");

/**
 * Decodes Base32 of RFC 4648 as people write it: upper or lower case, with or without padding, spaces and dashes (A10).
 * Returns undefined for any other text, because the decoder's error would quote the secret.
 */
export function base32ToBytes(text: string): Uint8Array | undefined {
  try {
    const bytes = base32nopad.decode(trimEnd(text.replace(/[\s-]/g, ""), "=").toUpperCase());
    return bytes.length > 0 ? bytes : undefined;
  } catch {
    return undefined;
  }
}
