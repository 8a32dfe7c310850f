import type { TokenHashes } from "../http/authenticate/api-tokens.ts";
import type { TokenHash } from "../http/authenticate/bearer.ts";
import { keyedHash } from "../keyed-hash.ts";
import type { KeyRing } from "../seal.ts";
import { between, days, hours, type Instant, isRecent } from "../time.ts";
import { type CacheOptions, cachedSecret } from "./cached-secret.ts";
import { createUseRecorder } from "./record-token-use.ts";
import type { Secrets } from "./secrets.ts";
import { tokenHashOf, validHashes } from "./token-versions.ts";

/** Maximum age of cached hashes while Key Vault is away: a token that is revoked in that time is accepted no longer than this. */
const maxStaleMs = hours(1);

/**
 * Stores the static tokens of an API as versions of one secret (G3). Key Vault has no conditional writes, so with a list in
 * one value a create could undo a revocation. Here a create adds a version and a revocation disables that version forever,
 * so neither overwrites the other. The hash is in the version's tags, because lists contain tags but no values.
 * @param keys the key ring of the service's data-encryption key, from which the key of the tags of tokens is derived
 */
export function apiTokenHashes(
  secrets: Secrets,
  api: "core" | "connector",
  caching: CacheOptions,
  keys: Pick<KeyRing, "current">,
): TokenHashes {
  const name = `${api}-api-tokens`;
  const read = async () => validHashes(await secrets.versions(name));
  const warn = createExpiryWarning(api, caching);
  const readAndWarn = async () => {
    const hashes = await read();
    warn(hashes);
    return hashes;
  };
  const cached = cachedSecret(name, readAndWarn, { ...caching, maxStaleMs });
  /** The last read for each id. Only tokens that this service created are looked up, so invented tokens add no entries. */
  const lookUps = new Map<string, { readonly at: Instant; readonly hashes: Promise<readonly TokenHash[]> }>();
  return {
    known: async () => (await cached.get()) ?? [],
    lookUp(id) {
      const time = caching.now();
      const last = lookUps.get(id);
      if (last !== undefined && isRecent(last.at, caching.refreshAfterMs, time)) return last.hashes;
      const hashes = cached.refresh().then(read => read ?? []);
      lookUps.set(id, { at: time, hashes });
      return hashes;
    },
    tag: keyedHash(keys, "tags of API tokens"),
    read,
    add: async ({ id, ...hash }) => void (await secrets.set(name, id, { tags: { id, ...hash } })),
    recordUse: createUseRecorder(secrets, name, caching),
    async revoke(id) {
      const versions = await secrets.versions(name);
      if (!validHashes(versions).some(hash => hash.id === id)) return false;
      const enabled = versions.filter(version => version.enabled && tokenHashOf(version)?.id === id);
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
