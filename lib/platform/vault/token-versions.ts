import { type TokenHash, tokenHash } from "../http/authenticate/bearer.ts";
import type { SecretVersion } from "./secrets.ts";

/**
 * Returns the hashes of the tokens that are not revoked. A repeated create may have stored a second version of a token after the first
 * was disabled, so one disabled version revokes the token.
 */
export function validHashes(versions: readonly SecretVersion[]): readonly TokenHash[] {
  const hashes = new Map<string, TokenHash>();
  const revoked: string[] = [];
  for (const version of versions) {
    const hash = tokenHashOf(version);
    if (hash === undefined) continue;
    const { lastUsedOn = "" } = hashes.get(hash.id) ?? {};
    hashes.set(hash.id, lastUsedOn > (hash.lastUsedOn ?? "") ? { ...hash, lastUsedOn } : hash);
    if (!version.enabled) revoked.push(hash.id);
  }
  for (const id of revoked) hashes.delete(id);
  return [...hashes.values()].sort((a, b) => (a.createdAt < b.createdAt ? -1 : 1));
}

/** Returns the hash in a version's tags; undefined for a version that is not a token, such as the first one, which the template creates. */
export const tokenHashOf = ({ tags }: SecretVersion): TokenHash | undefined => tokenHash.safeParse(tags).data;
