import { type KeyRing, keyedHash } from "../platform/crypto.ts";

/** Returns a keyed hash of a text in base64url. Equal texts of different kinds have different hashes. */
export type KeyedHash = (kind: string, text: string) => Promise<string>;

/**
 * Creates the hash under which storage has what people type and where they call from: a reader of the tables cannot
 * find a name, a password or an address by trying them (G10). The key is derived from the current key of the key ring,
 * so every host has the same one, and a new key starts all counts again.
 */
export function createKeyedHash(keys: Pick<KeyRing, "current">): KeyedHash {
  const hash = keyedHash(keys, "keys of throttles");
  return async (kind, text) => (await hash(`${kind}\0${text}`)).toString("base64url");
}
