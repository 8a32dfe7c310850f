import type { KeyRing } from "../../seal.ts";
import { type CacheOptions, cachedSecret } from "./cached-secret.ts";
import type { Secret, Secrets } from "./secrets.ts";

/**
 * The versions of a secret of 32 random bytes, in base64 or base64url, as keys (decision G8): one read of the vault a
 * process for the current version, repeated as `cachedSecret` does, and one for each older version that is met.
 */
export function keyRing(secrets: Secrets, name: string, options: CacheOptions): KeyRing {
  const keys = new Map<string, Promise<Uint8Array | undefined>>();

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

  const readVersion = async (version: string) => {
    const current = await newest.get();
    if (current?.version === version) return current.key;
    const secret = await secrets.getVersion(name, version);
    return secret && keyOf(name, secret);
  };

  return {
    async current() {
      const current = await newest.get();
      if (current === undefined) throw new Error(`The secret ${name} is missing in the vault`);
      return current;
    },
    async version(version) {
      const known = keys.get(version) ?? readVersion(version);
      keys.set(version, known);
      const key = await known.catch((error: unknown) => {
        keys.delete(version);
        throw error;
      });
      if (key === undefined) keys.delete(version);
      return key;
    },
  };
}

function keyOf(name: string, { value, version }: Secret): Uint8Array {
  if (!/^[A-Za-z0-9+/_-]{43}=?$/.test(value.trim()))
    throw new Error(`The secret ${name}, version ${version}, is not 32 bytes in base64 or base64url`);
  return new Uint8Array(Buffer.from(value.trim(), "base64"));
}
