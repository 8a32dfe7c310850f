import { createHash } from "node:crypto";
import { type KeyRing, keyedHash } from "../platform/crypto.ts";

/** Returns the SHA-256 of a text in base64url, for a key, which limits length and characters, or for a secret. */
export const hashOf = (text: string): string => createHash("sha256").update(text, "utf8").digest("base64url");

/** Returns a keyed hash of a text in base64url. Equal texts of different kinds have different hashes. */
export type KeyedHash = (kind: string, text: string) => Promise<string>;

/**
 * Creates the hash under which storage has what people type and where they call from: a reader of the tables cannot
 * find a name, a password or an address by trying them (G10). The key is derived from the current password pepper, so
 * every host has the same one, and a new pepper starts all counts again.
 */
export function createKeyedHash(pepper: Pick<KeyRing, "current">): KeyedHash {
  const hash = keyedHash(pepper, "keys of throttles");
  return async (kind, text) => (await hash(`${kind}\0${text}`)).toString("base64url");
}
