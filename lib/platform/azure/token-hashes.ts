import { type KeyRing, keyedHash } from "../crypto.ts";
import { type TokenHash, type TokenHashes, tokenHash } from "../http/bearer.ts";
import { between, days, hours, type Instant, isRecent } from "../time.ts";
import { type CacheOptions, cachedSecret } from "./cached-secret.ts";
import type { Secrets, SecretVersion } from "./secrets.ts";

/**
 * Maximum age of cached hashes while Key Vault is away: a token that is revoked in that time is accepted no longer than
 * this.
 */
const maxStaleMs = hours(1);

/**
 * Stores the static tokens of an API as versions of one secret (G3). Key Vault has no conditional writes, so with a
 * list in one value a create could undo a revocation. Here a create adds a version and a revocation disables that
 * version forever, so neither overwrites the other. The hash is in the version's tags, because lists contain tags but
 * no values.
 * @param keys the key ring of the service's key-encryption key, from which the key of the tags of tokens is derived
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
  /**
   * The last read for each id. Only tokens that this service created are looked up, so invented tokens add no entries.
   */
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

/** After an attempt, this process makes no other one for the token on the same day for this time. */
const retryAfterMs = hours(1);

/**
 * Returns a function that records the day of a token's last use in the tags of its version. Reads the tags again
 * before it writes them, so that of many hosts usually one writes on a day. Hosts that write at the same time write the
 * same day. A version that is revoked meanwhile stays disabled.
 */
function createUseRecorder(
  secrets: Secrets,
  name: string,
  { now, log }: Pick<CacheOptions, "now" | "log">,
): TokenHashes["recordUse"] {
  const tried = new Map<string, Instant>();

  const record = async (id: string, day: string) => {
    const versions = (await secrets.versions(name)).filter(version => {
      const hash = tokenHashOf(version);
      return hash?.id === id && (hash.lastUsedOn ?? "") < day;
    });
    await Promise.all(
      versions.map(({ version, tags }) => secrets.setTags(name, version, { ...tags, lastUsedOn: day })),
    );
  };

  return ({ id, lastUsedOn = "" }) => {
    const time = now();
    const day = time.slice(0, 10);
    const last = tried.get(id);
    const wasTried = last?.startsWith(day) === true && between(last, time) < retryAfterMs;
    if (lastUsedOn >= day || wasTried) return;
    tried.set(id, time);
    record(id, day).catch((error: unknown) => log.warn("api_token_use_unrecorded", { secret: name, id, error }));
  };
}

/**
 * Returns the hashes of the tokens that are not revoked. A repeated create may have stored a second version of a token
 * after the first was disabled, so one disabled version revokes the token.
 */
function validHashes(versions: readonly SecretVersion[]): readonly TokenHash[] {
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

/**
 * Returns the hash in a version's tags; undefined for a version that is not a token, such as the first one, which the
 * template creates.
 */
const tokenHashOf = ({ tags }: SecretVersion): TokenHash | undefined => tokenHash.safeParse(tags).data;
