import type { TokenCredential } from "@azure/identity";
import type { KeyVaultSecret, SecretClient, SecretClientOptions, SecretProperties } from "@azure/keyvault-secrets";
import { isLocalService } from "../credential.ts";
import { callService, isServiceError, rejectNonJson, retryOptions, unreadableResponse } from "../service-errors.ts";
import { withoutTls } from "../without-tls.ts";

export interface Secret {
  readonly value: string;
  readonly version: string;
  /** Only a date: the vault goes on giving the value afterwards. */
  readonly expiresOn?: Date;
}

/** A version as lists show it: without its value. */
export interface SecretVersion {
  readonly version: string;
  readonly enabled: boolean;
  readonly tags: Readonly<Record<string, string>>;
}

/**
 * Key Vault. Every call ends within the time limit, retries included, else with a `Fault` `unavailable`; a `set` that
 * ended so may have been done, perhaps as more than one version.
 */
export interface Secrets {
  /** The current version. Undefined where there is none, or it was deleted. */
  get(name: string): Promise<Secret | undefined>;
  /** Undefined where there is none, and for a text that cannot be a version: it would become part of the vault's path. */
  getVersion(name: string, version: string): Promise<Secret | undefined>;
  /** Makes a new version, the current one from then on. */
  set(
    name: string,
    value: string,
    options?: { readonly expiresOn?: Date; readonly tags?: Record<string, string> },
  ): Promise<Secret>;
  /** Returns every version, disabled ones too; none where there is no such secret. One request for each 25 versions. */
  versions(name: string): Promise<readonly SecretVersion[]>;
  /** Disables a version. Its value and its tags stay. */
  disable(name: string, version: string): Promise<void>;
}

export interface SecretsOptions {
  /** The vault's address. */
  readonly endpoint: string;
  readonly credential: TokenCredential;
  readonly timeoutMs: number;
}

const service = "Key Vault";

/** Whether the vault could have given this version: versions come from stored rows, which callers' texts are part of. */
const isVersionId = (version: string): boolean => /^[0-9a-f]{32}$/.test(version);

/** The SDK is loaded at the first call. */
export function openSecrets(options: SecretsOptions): Secrets {
  const { timeoutMs } = options;
  const local = isLocalService(options.endpoint);
  let opened: Promise<SecretClient> | undefined;
  const ask = <T>(work: (client: SecretClient, abortSignal: AbortSignal) => Promise<T>): Promise<T> =>
    callService(service, timeoutMs, async abortSignal => {
      opened ??= openClient(options, local);
      return work(await opened, abortSignal);
    });
  const call = (work: (client: SecretClient, abortSignal: AbortSignal) => Promise<KeyVaultSecret>) =>
    ask(async (client, abortSignal) => toSecret(await work(client, abortSignal)));
  const unlessMissing = (secret: Promise<Secret>) =>
    secret.catch((error: unknown) => {
      if (isServiceError(error) && error.code === "SecretNotFound") return undefined;
      throw error;
    });

  return {
    get: name => unlessMissing(call((client, abortSignal) => client.getSecret(name, { abortSignal }))),
    getVersion: async (name, version) =>
      isVersionId(version)
        ? unlessMissing(call((client, abortSignal) => client.getSecret(name, { version, abortSignal })))
        : undefined,
    set: (name, value, more = {}) =>
      call((client, abortSignal) => client.setSecret(name, value, { ...more, abortSignal })),
    versions: name =>
      ask(async (client, abortSignal) => {
        const found: SecretVersion[] = [];
        for await (const properties of client.listPropertiesOfSecretVersions(name, { abortSignal })) {
          found.push(toVersion(properties));
        }
        return found;
      }),
    disable: (name, version) =>
      ask(async (client, abortSignal) => {
        await client.updateSecretProperties(name, version, { enabled: false, abortSignal });
      }),
  };
}

async function openClient({ endpoint, credential, timeoutMs }: SecretsOptions, local: boolean): Promise<SecretClient> {
  const { SecretClient } = await import("@azure/keyvault-secrets");
  const policies = [rejectNonJson(service, timeoutMs)];
  const options: SecretClientOptions = { retryOptions, additionalPolicies: policies };
  if (!local) return new SecretClient(endpoint, credential, options);
  return new SecretClient(endpoint.replace(/^http:/i, "https:"), credential, {
    ...options,
    disableChallengeResourceVerification: true,
    additionalPolicies: [...policies, withoutTls],
  });
}

function toSecret({ value, properties: { version, expiresOn } }: KeyVaultSecret): Secret {
  if (value === undefined || version === undefined) throw unreadableResponse(service, 200);
  return { value, version, ...(expiresOn === undefined ? {} : { expiresOn }) };
}

function toVersion({ version, enabled, tags = {} }: SecretProperties): SecretVersion {
  if (version === undefined || enabled === undefined) throw unreadableResponse(service, 200);
  return { version, enabled, tags };
}
