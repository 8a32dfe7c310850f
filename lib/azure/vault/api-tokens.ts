import type { TokenHashes } from "../../http/authenticate/api-tokens.ts";
import { type TokenHash, tokenHash } from "../../http/authenticate/bearer.ts";
import { hours } from "../../time.ts";
import { type CacheOptions, cachedSecret } from "./cached-secret.ts";
import type { Secrets, SecretVersion } from "./secrets.ts";

/** Maximum age of cached hashes while Key Vault is away: a token that is revoked in that time is accepted no longer than this. */
const maxStaleMs = hours(1);

/**
 * Stores the static tokens of an API as versions of one secret (G3). Key Vault has no conditional writes, so with a list in one value a
 * create could undo a revocation. Here a create adds a version and a revocation disables that version forever, so neither overwrites the
 * other. The hash is in the version's tags, because lists contain tags but no values.
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
 * Returns the hashes of the tokens that are not revoked. A repeated create may have stored a second version of a token after the first
 * was disabled, so one disabled version revokes the token.
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

/** Returns the hash in a version's tags; undefined for a version that is not a token, such as the first one, which the template creates. */
const hashOf = ({ tags }: SecretVersion): TokenHash | undefined => tokenHash.safeParse(tags).data;
