import { createSecretKey, hkdfSync, type KeyObject } from "node:crypto";
import type { KeyRing } from "./seal.ts";

/**
 * Returns a function that returns a key for one purpose, derived from the current key of a key ring. Derives it once for each version
 * that the key ring caches, because anonymous calls use it, also on an overloaded host, and a derivation costs more than its use.
 */
export function derivedKey(keys: Pick<KeyRing, "current">, purpose: string): () => Promise<KeyObject> {
  const derived = new WeakMap<Uint8Array, KeyObject>();
  return async () => {
    const { key } = await keys.current();
    const known = derived.get(key) ?? createSecretKey(new Uint8Array(hkdfSync("sha256", key, "", purpose, 32)));
    derived.set(key, known);
    return known;
  };
}
