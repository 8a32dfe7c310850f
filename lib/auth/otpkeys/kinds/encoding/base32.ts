import { base32nopad } from "@scure/base";
import { trimEnd } from "../../../../platform/trim-end.ts";

/**
 * Decodes Base32 of RFC 4648 as people write it: upper or lower case, with or without padding, spaces and dashes (A10). Returns
 * undefined for any other text, because the decoder's error would quote the secret.
 */
export function base32ToBytes(text: string): Uint8Array | undefined {
  try {
    const bytes = base32nopad.decode(trimEnd(text.replace(/[\s-]/g, ""), "=").toUpperCase());
    return bytes.length > 0 ? bytes : undefined;
  } catch {
    return undefined;
  }
}
