import { createHmac, createSecretKey, hkdfSync, type KeyObject } from "node:crypto";
import type { KeyRing } from "./seal.ts";

/**
 * Returns the HMAC-SHA-256 for one purpose, whose key is derived from the current key of a key ring: every host of the
 * service has the same one, and a new key changes all hashes. Derives the key once for each version that the key ring
 * caches, because anonymous calls use it, also on an overloaded host, and a derivation costs more than its use.
 */
export function keyedHash(
  keys: Pick<KeyRing, "current">,
  purpose: string,
): (content: string | Uint8Array) => Promise<Buffer> {
  const derived = new WeakMap<Uint8Array, KeyObject>();
  return async content => {
    const { key } = await keys.current();
    const own = derived.get(key) ?? createSecretKey(new Uint8Array(hkdfSync("sha256", key, "", purpose, 32)));
    derived.set(key, own);
    return createHmac("sha256", own).update(content).digest();
  };
}
