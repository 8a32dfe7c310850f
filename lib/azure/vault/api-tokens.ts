import type { TokenHashes } from "../../http/authenticate/api-tokens.ts";
import { type TokenHash, tokenHash } from "../../http/authenticate/bearer.ts";
import { hours } from "../../time.ts";
import { type CacheOptions, cachedSecret } from "./cached-secret.ts";
import type { Secrets, SecretVersion } from "./secrets.ts";

/** Age up to which hashes count while Key Vault is away: a token that was revoked meanwhile is accepted no longer than this. */
const maxStaleMs = hours(1);

/**
 * The static tokens of an API as versions of one secret (decision G3). Key Vault has no condition on a write, so a list in one value
 * could lose a revocation to a create. Here a create adds a version and a revocation disables that version, for good: neither writes
 * what the other has written. The hash is in the version's tags, because lists show tags and no values.
 */
export function apiTokenHashes(secrets: Secrets, api: "core" | "connector", caching: CacheOptions): TokenHashes {
  const name = `${api}-api-tokens`;
  const read = async () => validHashes(await secrets.versions(name));
  const cached = cachedSecret(name, read, { ...caching, maxStaleMs });
  return {
    known: async refresh => (await (refresh ? cached.refresh() : cached.get())) ?? [],
    read,
    add: async ({ id, ...hash }) => void (await secrets.set(name, id, { tags: { id, ...hash } })),
    async revoke(id) {
      const versions = await secrets.versions(name);
      if (!validHashes(versions).some(hash => hash.id === id)) return false;
      const enabled = versions.filter(version => version.enabled && hashOf(version)?.id === id);
      await Promise.all(enabled.map(({ version }) => secrets.disable(name, version)));
      return true;
    },
  };
}

/**
 * A repeated create leaves two versions of one token, the second perhaps only after the first was disabled: one disabled version
 * revokes the token.
 */
function validHashes(versions: readonly SecretVersion[]): readonly TokenHash[] {
  const hashes = new Map<string, TokenHash>();
  const revoked: string[] = [];
  for (const version of versions) {
    const hash = hashOf(version);
    if (hash === undefined) continue;
    hashes.set(hash.id, hash);
    if (!version.enabled) revoked.push(hash.id);
  }
  for (const id of revoked) hashes.delete(id);
  return [...hashes.values()].sort((a, b) => (a.createdAt < b.createdAt ? -1 : 1));
}

/** The hash in a version's tags. Undefined for a version that is no token: the template creates the first one. */
const hashOf = ({ tags }: SecretVersion): TokenHash | undefined => tokenHash.safeParse(tags).data;
