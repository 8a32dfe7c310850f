import type { TokenCredential } from "@azure/identity";
import { withTimeout } from "../async.ts";
import { Fault } from "../fault.ts";

/** How to reach a service: with managed identity in Azure, with a connection string locally. */
export type ServiceAccess =
  | { readonly connectionString: string }
  | { readonly endpoint: string; readonly credential: TokenCredential };

interface IdentityOptions {
  /** Of a user-assigned identity; absent: the system-assigned one. */
  readonly clientId?: string | undefined;
  /**
   * Time limit of one call to the platform, retries included. The SDK has none, and all callers wait for the same call.
   */
  readonly timeoutMs: number;
}

/**
 * Returns the app's managed identity. Loads the identity SDK, which caches the tokens, at the first call. If there is
 * no token, throws Fault `unavailable`: nothing was sent to the service.
 */
export function managedIdentity({ clientId, timeoutMs }: IdentityOptions): TokenCredential {
  let loaded: Promise<TokenCredential> | undefined;
  const load = async () => {
    const { ManagedIdentityCredential } = await import("@azure/identity");
    return clientId === undefined ? new ManagedIdentityCredential() : new ManagedIdentityCredential({ clientId });
  };
  return {
    getToken: async (scopes, options) => {
      loaded ??= load();
      const identity = await loaded;
      return withTimeout(timeoutMs, () => identity.getToken(scopes, options)).catch((cause: unknown) => {
        throw new Fault("unavailable", "The service's identity is not available at the moment.", {
          retryAfter: 5,
          cause,
        });
      });
    },
  };
}

/** Returns an access token for a scope of the form `https://<resource>/.default`. Throws what the credential throws. */
export async function accessToken(credential: TokenCredential, scope: string): Promise<string> {
  const granted = await credential.getToken(scope);
  if (granted === null) throw new Error("the identity has no token");
  return granted.token;
}

/** Credential for local simulated services, which accept any token. */
export const localCredential: TokenCredential = {
  getToken: async () => ({ token: "local", expiresOnTimestamp: 8.64e15 }),
};

/**
 * Returns whether a URL is a local simulated service, the only kind that is called without TLS. Throws if it is not a
 * URL, or if it is an http URL of another host.
 */
export function isLocalService(endpoint: string): boolean {
  const { protocol, hostname, host } = new URL(endpoint);
  if (protocol === "https:") return false;
  if (protocol === "http:" && (hostname === "127.0.0.1" || hostname === "localhost")) return true;
  throw new Error(`${protocol}//${host} is refused: only https, or http to 127.0.0.1 or localhost`);
}
