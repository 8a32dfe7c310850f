import type { TokenHashes } from "../../http/authenticate/api-tokens.ts";
import { type TokenHash, tokenHash } from "../../http/authenticate/bearer.ts";
import { between, days, hours, type Instant } from "../../time.ts";
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
  const warn = createExpiryWarning(api, caching);
  const readAndWarn = async () => {
    const hashes = await read();
    warn(hashes);
    return hashes;
  };
  const cached = cachedSecret(name, readAndWarn, { ...caching, maxStaleMs });
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

const warnBeforeMs = days(14);

/**
 * Returns a function that logs tokens which expire within two weeks, each at most once a day, until they have expired.
 */
function createExpiryWarning(api: string, { now, log }: CacheOptions): (hashes: readonly TokenHash[]) => void {
  const warnedAt = new Map<string, Instant>();
  return hashes => {
    const time = now();
    for (const { id, expiresAt } of hashes) {
      if (expiresAt === undefined || expiresAt <= time || between(time, expiresAt) > warnBeforeMs) continue;
      const last = warnedAt.get(id);
      if (last !== undefined && between(last, time) < days(1)) continue;
      warnedAt.set(id, time);
      log.warn("api_token_expires", { api, id, expiresAt });
    }
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
