import type { KeyRing } from "../crypto.ts";
import { type CacheOptions, cachedSecret } from "./cached-secret.ts";
import { isVersionId, type Secret, type Secrets } from "./secrets.ts";

type Key = Uint8Array | undefined;

/** Maximum number of remembered versions that the vault does not have: versions come from stored rows. */
const maxMissing = 1000;

/**
 * Returns the versions of a secret of 32 random bytes, in base64 or base64url, as keys (G8). Caches the current version
 * as `cachedSecret` does, and each older version forever. After a restore beside a new vault, stored values name
 * versions of the old one: then all versions of this vault are candidates, because an operator copied the old keys into
 * it.
 */
export function keyRing(secrets: Secrets, name: string, options: CacheOptions): KeyRing {
  const keys = new Map<string, Promise<Key>>();
  const missing = new Set<string>();

  const newest = cachedSecret(
    name,
    async () => {
      const secret = await secrets.get(name);
      if (secret === undefined) return undefined;
      const key = keyOf(name, secret);
      keys.set(secret.version, Promise.resolve(key));
      return { version: secret.version, key };
    },
    options,
  );

  const readVersion = async (version: string): Promise<Key> => {
    const current = await newest.get();
    if (current?.version === version) return current.key;
    const secret = await secrets.getVersion(name, version);
    return secret && keyOf(name, secret);
  };

  /** Returns the key of a version, which is read once; undefined if there is no such version. */
  const keyOfVersion = async (version: string): Promise<Key> => {
    const read = keys.get(version) ?? readVersion(version);
    keys.set(version, read);
    const key = await read.catch((error: unknown) => {
      keys.delete(version);
      throw error;
    });
    if (key === undefined) keys.delete(version);
    return key;
  };

  const all = cachedSecret(
    `${name}, every version`,
    async () => {
      const enabled = (await secrets.versions(name)).filter(each => each.enabled);
      const read = await Promise.all(enabled.map(({ version }) => keyOfVersion(version).catch(passInvalid)));
      return read.filter(key => key !== undefined);
    },
    options,
  );

  return {
    async current() {
      const current = await newest.get();
      if (current === undefined) throw new Error(`The secret ${name} is missing in the vault`);
      return current;
    },
    async candidates(version) {
      // No vault has such a version: the stored text was changed, and no key opens it.
      if (!isVersionId(version)) return [];
      const key = missing.has(version) ? undefined : await keyOfVersion(version);
      if (key !== undefined) return [key];
      if (!missing.has(version)) {
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
