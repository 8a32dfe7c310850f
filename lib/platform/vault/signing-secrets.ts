import { type CacheOptions, cachedSecret } from "./cached-secret.ts";
import type { Secrets } from "./secrets.ts";

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
