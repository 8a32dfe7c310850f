import type { Log } from "../log.ts";
import { between, type Instant, isRecent, type Now } from "../time.ts";
import type { Secrets } from "./secrets.ts";

interface CachedSecret<T> {
  /**
   * Returns the value of the last successful read, and reads again if it is older than `maxAgeMs`. Rejects if no read
   * has succeeded within `maxStaleMs`.
   */
  get(): Promise<T | undefined>;
  /**
   * Returns the value of a read that begins after the call. Rejects if that read fails. The caller limits how often.
   */
  refresh(): Promise<T | undefined>;
}

export interface CacheOptions {
  /** Age at which a value is read again. */
  readonly maxAgeMs: number;
  /** Minimum time to the next read after a failed one, and between two reads for one unknown API token. */
  readonly refreshAfterMs: number;
  /** Maximum age of a value that is used while reads fail. Default: no limit. */
  readonly maxStaleMs?: number;
  readonly now: Now;
  readonly log: Log;
}

/**
 * Caches a secret (G3). Concurrent callers share one read. While reads fail, the cached value is used for at most
 * `maxStaleMs`. If the vault responds that the secret does not exist, the value is undefined at once.
 */
export function cachedSecret<T>(
  name: string,
  read: () => Promise<T | undefined>,
  { maxAgeMs, refreshAfterMs, maxStaleMs = Number.POSITIVE_INFINITY, now, log }: CacheOptions,
): CachedSecret<T> {
  let cached: { readonly secret: T | undefined; readonly at: Instant } | undefined;
  let failed: { readonly error: unknown; readonly at: Instant } | undefined;
  let reading: Promise<T | undefined> | undefined;
  let next: Promise<T | undefined> | undefined;

  const renew = async () => {
    const at = now();
    try {
      const secret = await read();
      cached = { secret, at };
      return secret;
    } catch (error) {
      failed = { error, at };
      if (cached !== undefined) log.warn("secret.stale", { secret: name, readAt: cached.at, error });
      throw error;
    }
  };
  const readShared = () => {
    reading ??= renew().finally(() => {
      reading = undefined;
    });
    return reading;
  };
  const staleOr = (error: unknown) => {
    if (cached === undefined || between(cached.at, now()) >= maxStaleMs) throw error;
    return cached.secret;
  };

  const get = async () => {
    if (cached !== undefined && isRecent(cached.at, maxAgeMs, now())) return cached.secret;
    if (cached !== undefined && isRecent(failed?.at, refreshAfterMs, now())) return staleOr(failed?.error);
    return readShared().catch(staleOr);
  };
  return {
    get,
    refresh() {
      if (reading === undefined) return readShared();
      // The read in progress may be too old for this caller. All callers until it ends share the next one.
      next ??= reading
        .catch(() => {})
        .then(() => {
          next = undefined;
          return readShared();
        });
      return next;
    },
  };
}

/**
 * Returns a function that reads the values of a signing secret: the current version first, then the latest enabled
 * version before it. Messages are signed with both, so receivers can change to a new version at any time after it was
 * set. The function throws if the secret is missing.
 */
export function signingSecrets(
  secrets: Secrets,
  name: string,
  caching: CacheOptions,
): () => Promise<readonly string[]> {
  const cached = cachedSecret(
    name,
    async () => {
      const current = await secrets.get(name);
      if (current === undefined) return undefined;
      const former = (await secrets.versions(name))
        .filter(({ enabled, version }) => enabled && version !== current.version)
        .sort((a, b) => Number(b.createdOn ?? 0) - Number(a.createdOn ?? 0))[0];
      const before = former && (await secrets.getVersion(name, former.version));
      return before === undefined ? [current.value] : [current.value, before.value];
    },
    caching,
  );
  return async () => {
    const values = await cached.get();
    if (values === undefined) throw new Error(`The secret ${name} is missing in Key Vault.`);
    return values;
  };
}
