import type { KeyRing } from "../crypto.ts";
import type { Log } from "../log.ts";
import { between, type Instant, isRecent, type Now } from "../time.ts";
import { isVersionId, type Secret, type Secrets } from "./secrets.ts";

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
) {
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
    } finally {
      reading = undefined;
    }
  };
  const readShared = () => {
    reading ??= renew();
    return reading;
  };
  const staleOr = (error: unknown) => {
    if (cached === undefined || between(cached.at, now()) >= maxStaleMs) throw error;
    return cached.secret;
  };
  const readNext = async () => {
    await reading?.catch(() => {});
    next = undefined;
    return readShared();
  };

  return {
    /**
     * Returns the value of the last successful read, and reads again if it is older than `maxAgeMs`. Rejects if no read
     * has succeeded within `maxStaleMs`.
     */
    async get(): Promise<T | undefined> {
      if (cached !== undefined && isRecent(cached.at, maxAgeMs, now())) return cached.secret;
      if (cached !== undefined && isRecent(failed?.at, refreshAfterMs, now())) return staleOr(failed?.error);
      return readShared().catch(staleOr);
    },
    /**
     * Returns the value of a read that begins after the call: one in progress may be too old for this caller. All
     * callers until it ends share the next one. Rejects if that read fails. The caller limits how often.
     */
    refresh(): Promise<T | undefined> {
      if (reading === undefined) return readShared();
      next ??= readNext();
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
  const read = async () => {
    const current = await secrets.get(name);
    if (current === undefined) return undefined;
    const former = (await secrets.versions(name))
      .filter(({ enabled, version }) => enabled && version !== current.version)
      .sort((a, b) => Number(b.createdOn ?? 0) - Number(a.createdOn ?? 0))[0];
    const before = former && (await secrets.getVersion(name, former.version));
    return before === undefined ? [current.value] : [current.value, before.value];
  };
  const cached = cachedSecret(name, read, caching);
  return async () => {
    const values = await cached.get();
    if (values === undefined) throw new Error(`The secret ${name} is missing in Key Vault.`);
    return values;
  };
}

/** Maximum number of remembered versions that the vault does not have: versions come from stored rows. */
const maxMissing = 1000;

/**
 * Returns the versions of a secret of 32 random bytes, in base64 or base64url, as keys (G8). Caches the current version
 * as `cachedSecret` does, and each older version forever. After a restore beside a new vault, stored values name
 * versions of the old one: then all versions of this vault are candidates, because an operator copied the old keys into
 * it.
 */
export function keyRing(secrets: Secrets, name: string, options: CacheOptions): KeyRing {
  const keys = new Map<string, Promise<Uint8Array | undefined>>();
  const missing = new Set<string>();

  const readNewest = async () => {
    const secret = await secrets.get(name);
    if (secret === undefined) return undefined;
    const key = keyOf(name, secret);
    keys.set(secret.version, Promise.resolve(key));
    return { version: secret.version, key };
  };
  const newest = cachedSecret(name, readNewest, options);

  const readVersion = async (version: string) => {
    const current = await newest.get();
    if (current?.version === version) return current.key;
    const secret = await secrets.getVersion(name, version);
    return secret && keyOf(name, secret);
  };

  /** Returns the key of a version, which is read once; undefined if there is no such version. */
  const keyOfVersion = async (version: string) => {
    const read = keys.get(version) ?? readVersion(version);
    keys.set(version, read);
    const key = await read.catch((error: unknown) => {
      keys.delete(version);
      throw error;
    });
    if (key === undefined) keys.delete(version);
    return key;
  };

  const readAll = async () => {
    const enabled = (await secrets.versions(name)).filter(each => each.enabled);
    const read = await Promise.all(enabled.map(({ version }) => keyOfVersion(version).catch(passInvalid)));
    return read.filter(key => key !== undefined);
  };
  const all = cachedSecret(`${name}, every version`, readAll, options);

  return {
    async current() {
      const current = await newest.get();
      if (current === undefined) throw new Error(`The secret ${name} is missing in the vault`);
      return current;
    },
    async candidates(version) {
      // No vault has such a version: the stored text was changed, and no key opens it.
      if (!keys.has(version) && !isVersionId(version)) return [];
      if (!missing.has(version)) {
        const key = await keyOfVersion(version);
        if (key !== undefined) return [key];
        if (missing.size === maxMissing) missing.clear();
        missing.add(version);
        options.log.warn("secret.version_missing", { secret: name, version });
      }
      return (await all.get()) ?? [];
    },
  };
}

/** Thrown for a version that is not a key. */
class InvalidKey extends Error {
  override readonly name = "InvalidKey";
}

/** Leaves out a version that is not a key: another version may be the one that is looked for. */
function passInvalid(error: unknown): undefined {
  if (!(error instanceof InvalidKey)) throw error;
}

function keyOf(name: string, { value, version }: Secret): Uint8Array {
  if (!/^[A-Za-z0-9+/_-]{43}=?$/.test(value.trim()))
    throw new InvalidKey(`The secret ${name}, version ${version}, is not 32 bytes in base64 or base64url`);
  return new Uint8Array(Buffer.from(value.trim(), "base64"));
}
