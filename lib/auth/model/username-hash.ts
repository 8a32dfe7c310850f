import { createHmac, hkdfSync } from "node:crypto";
import type { KeyRing } from "../../seal.ts";
import { parseUsername } from "./username.ts";

/** The hash that stands in the log for a username that no user has. Undefined while its key can not be read. */
export type UsernameHash = (username: string) => Promise<string | undefined>;

const length = 22;

/**
 * Makes hashes by a key that is derived from the current version of the password pepper (decision G10): the same name has the same
 * hash on every host, and nobody who reads the log can try names or passwords against it.
 */
export const createUsernameHash =
  (pepper: Pick<KeyRing, "current">): UsernameHash =>
  async username => {
    const current = await pepper.current().catch(() => undefined);
    if (current === undefined) return undefined;
    const key = Buffer.from(hkdfSync("sha256", current.key, "", "usernames in the log", 32));
    const parsed = parseUsername(username);
    const text = parsed.ok ? parsed.value.folded : username;
    return createHmac("sha256", key).update(text, "utf8").digest("base64url").slice(0, length);
  };
