import type { TokenCredential } from "@azure/identity";
import type { KeyVaultSecret, SecretClient, SecretClientOptions, SecretProperties } from "@azure/keyvault-secrets";
import { measure } from "../telemetry.ts";
import { between, days, instant, type Now } from "../time.ts";
import {
  isLocalService,
  isServiceError,
  rejectNonJson,
  retryOptions,
  retryThrottled,
  serviceCaller,
  unreadableServiceResponse,
  withoutTls,
} from "./services.ts";

export interface Secret {
  readonly value: string;
  readonly version: string;
  /** Information only: the vault returns the value also after this date. */
  readonly expiresOn?: Date;
}

/** A version in a list, without its value. */
export interface SecretVersion {
  readonly version: string;
  readonly enabled: boolean;
  readonly createdOn?: Date;
  readonly tags: Readonly<Record<string, string>>;
}

interface SecretsOptions {
  /** URL of the vault. */
  readonly endpoint: string;
  readonly credential: TokenCredential;
  readonly timeoutMs: number;
}

const service = "Key Vault";

/** Returns whether a text can be a version: versions come from stored rows, which contain callers' texts. */
export const isVersionId = (version: string): boolean => /^[0-9a-f]{32}$/.test(version);

export type Secrets = ReturnType<typeof openSecrets>;

/**
 * Opens Key Vault. Loads the SDK at the first call. Every call ends within the time limit, retries included, or throws
 * Fault `unavailable`. A `set` that ends with this Fault may have created one or more versions.
 */
export function openSecrets(options: SecretsOptions) {
  const local = isLocalService(options.endpoint);
  const call = serviceCaller(service, options.timeoutMs, () => openClient(options, local));
  const read = (name: string, options: { readonly version?: string } = {}) =>
    call(async (client, abortSignal) => {
      try {
        return toSecret(await client.getSecret(name, { ...options, abortSignal }));
      } catch (error) {
        if (isServiceError(error) && error.code === "SecretNotFound") return undefined;
        throw error;
      }
    });

  return {
    /** Returns the current version; undefined if the secret does not exist or was deleted. */
    get: (name: string) => read(name),
    /**
     * Returns a version; undefined if it does not exist. Sends nothing for a text that cannot be a version, because it
     * would be part of the URL.
     */
    getVersion: async (name: string, version: string) => (isVersionId(version) ? read(name, { version }) : undefined),
    /** Creates a version, which becomes the current one. */
    set: (
      name: string,
      value: string,
      more: { readonly expiresOn?: Date; readonly tags?: Record<string, string> } = {},
    ) => call(async (client, abortSignal) => toSecret(await client.setSecret(name, value, { ...more, abortSignal }))),
    /**
     * Returns all versions, including disabled ones; none if the secret does not exist. One request for each 25
     * versions.
     */
    versions: (name: string): Promise<readonly SecretVersion[]> =>
      call((client, abortSignal) =>
        Array.fromAsync(client.listPropertiesOfSecretVersions(name, { abortSignal }), toVersion),
      ),
    /** Disables a version; its value and tags stay. */
    disable: (name: string, version: string) =>
      call(async (client, abortSignal) => {
        await client.updateSecretProperties(name, version, { enabled: false, abortSignal });
      }),
    /** Replaces all tags of a version; its value stays, and a disabled version stays disabled. */
    setTags: (name: string, version: string, tags: Record<string, string>) =>
      call(async (client, abortSignal) => {
        await client.updateSecretProperties(name, version, { tags, abortSignal });
      }),
  };
}

async function openClient({ endpoint, credential, timeoutMs }: SecretsOptions, local: boolean): Promise<SecretClient> {
  const { SecretClient } = await import("@azure/keyvault-secrets");
  const policies = [retryThrottled, rejectNonJson(service, timeoutMs)];
  const options: SecretClientOptions = { retryOptions, additionalPolicies: policies };
  if (!local) return new SecretClient(endpoint, credential, options);
  return new SecretClient(endpoint.replace(/^http:/i, "https:"), credential, {
    ...options,
    disableChallengeResourceVerification: true,
    additionalPolicies: [...policies, withoutTls],
  });
}

function toSecret({ value, properties: { version, expiresOn } }: KeyVaultSecret): Secret {
  if (value === undefined || version === undefined) throw unreadableServiceResponse(service, 200);
  return { value, version, ...(expiresOn === undefined ? {} : { expiresOn }) };
}

function toVersion({ version, enabled, createdOn, tags = {} }: SecretProperties): SecretVersion {
  if (version === undefined || enabled === undefined) throw unreadableServiceResponse(service, 200);
  return { version, enabled, tags, ...(createdOn === undefined ? {} : { createdOn }) };
}

/**
 * Measures the days until expiry at each read of a secret, because Key Vault also returns expired secrets. These have 0
 * days left: OpenTelemetry drops a negative value, and the alert would end on the day on which the secret expires.
 */
export const logExpiry = (secrets: Secrets, now: Now): Secrets => ({
  ...secrets,
  async get(name) {
    const secret = await secrets.get(name);
    if (secret?.expiresOn !== undefined) {
      const left = between(now(), instant(secret.expiresOn.getTime())) / days(1);
      measure("secret.days_left", Math.max(0, left), { secret: name });
    }
    return secret;
  },
});
