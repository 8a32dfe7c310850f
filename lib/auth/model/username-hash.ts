import { createHmac, hkdfSync } from "node:crypto";
import type { KeyRing } from "../../seal.ts";
import { parseUsername } from "./username.ts";

/** Returns the keyed hash by which the log names an unknown username; undefined while the pepper cannot be read. */
export type HashUsernameForLog = (username: string) => Promise<string | undefined>;

const hashLength = 22;

/**
 * Creates the hash function. Its key is derived from the current password pepper, so that a username has the same hash on every
 * host, and a reader of the log cannot find usernames or passwords by trying them (G10).
 */
export const createUsernameHashForLog =
  (pepper: Pick<KeyRing, "current">): HashUsernameForLog =>
  async username => {
    const current = await pepper.current().catch(() => undefined);
    if (current === undefined) return undefined;
    const key = Buffer.from(hkdfSync("sha256", current.key, "", "usernames in the log", 32));
    const parsed = parseUsername(username);
    const text = parsed.ok ? parsed.value.folded : username;
    return createHmac("sha256", key).update(text, "utf8").digest("base64url").slice(0, hashLength);
  };
