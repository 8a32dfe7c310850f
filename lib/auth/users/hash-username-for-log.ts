import { createHmac } from "node:crypto";
import { derivedKey } from "../../platform/derived-key.ts";
import type { KeyRing } from "../../platform/seal.ts";
import { parseUsername } from "./username.ts";

/** Returns the keyed hash by which the log names an unknown username; undefined while the pepper cannot be read. */
export type HashUsernameForLog = (username: string) => Promise<string | undefined>;

const hashLength = 22;

/**
 * Creates the hash function. Its key is derived from the current password pepper, so that a username has the same hash on every
 * host, and a reader of the log cannot find usernames or passwords by trying them (G10).
 */
export function createUsernameHashForLog(pepper: Pick<KeyRing, "current">): HashUsernameForLog {
  const key = derivedKey(pepper, "usernames in the log");
  return async username => {
    const current = await key().catch(() => undefined);
    if (current === undefined) return undefined;
    const parsed = parseUsername(username);
    const text = parsed.ok ? parsed.value.folded : username;
    return createHmac("sha256", current).update(text, "utf8").digest("base64url").slice(0, hashLength);
  };
}
