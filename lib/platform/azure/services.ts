import type { TableServiceClientOptions } from "@azure/data-tables";
import type { TokenCredential } from "@azure/identity";
import { withTimeout } from "../async.ts";
import { Fault } from "../fault.ts";
import { readRetryAfter } from "../response-headers.ts";

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
          retryAfterSeconds: 5,
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

/** Access key (base64) for local simulated services that require a signature. */
export const localAccessKey = "bG9jYWw=";

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

/** Policies of the SDKs' request pipelines. */
export type Policies = NonNullable<TableServiceClientOptions["additionalPolicies"]>;

/**
 * A few attempts within about a second, because a caller is waiting. The time limit of the call includes all of them.
 */
export const retryOptions = { maxRetries: 3, retryDelayInMs: 200, maxRetryDelayInMs: 2_000 };

/** Retry-After of a Fault if the service gave none. */
const defaultRetryAfterSeconds = 5;

/**
 * Returns a function that makes the calls of a service with its client, which is opened at the first call. Each call ends
 * within the time limit. It throws Fault `unavailable` if the service is away, throttles or is late (G6); other errors
 * pass through. A write that ends with this Fault may have succeeded.
 */
export function serviceCaller<C>(service: string, timeoutMs: number, open: () => Promise<C>) {
  let opened: Promise<C> | undefined;
  return async <T>(work: (client: C, abortSignal: AbortSignal) => Promise<T>): Promise<T> => {
    try {
      return await withTimeout(timeoutMs, async abortSignal => {
        opened ??= open();
        return work(await opened, abortSignal);
      });
    } catch (error) {
      throw toFault(service, error);
    }
  };
}

/**
 * Returns a policy for services that respond with JSON. It rejects a 200 with another content type, because the SDKs
 * would read a proxy's HTML page as an empty result, and a response whose Retry-After does not fit into the time limit.
 */
export const rejectNonJson = (service: string, timeoutMs: number): Policies[number] => ({
  position: "perRetry",
  policy: {
    name: "rejectNonJson",
    async sendRequest(request, next) {
      const response = await next(request);
      const { status, headers } = response;
      const retryAfterSeconds =
        status === 429 || status === 503 ? readRetryAfter(headers.get("retry-after")) : undefined;
      if (retryAfterSeconds !== undefined && retryAfterSeconds * 1000 >= timeoutMs)
        throw unavailableFault(service, retryAfterSeconds);
      if (status === 200 && !/\bjson\b/i.test(headers.get("content-type") ?? ""))
        throw unreadableServiceResponse(service, status);
      return response;
    },
  },
});

/**
 * Changes a 429 to a 503. Key Vault sends a 429 without Retry-After, and the SDKs retry such a 503, but not such a 429.
 */
export const retryThrottled: Policies[number] = {
  position: "perRetry",
  policy: {
    name: "retryThrottled",
    async sendRequest(request, next) {
      const response = await next(request);
      return response.status === 429 ? { ...response, status: 503 } : response;
    },
  },
};

/** Makes SDKs that require https call local simulated services with http, because these have no certificate. */
export const withoutTls: Policies[number] = {
  position: "perRetry",
  policy: {
    name: "withoutTls",
    async sendRequest(request, next) {
      const { url } = request;
      request.url = url.replace(/^https:/, "http:");
      request.allowInsecureConnection = true;
      try {
        return await next(request);
      } finally {
        request.url = url;
      }
    },
  },
};

/** The fields of the SDKs' `RestError` that are used. */
interface ServiceError extends Error {
  readonly code?: string;
  readonly statusCode?: number;
  readonly response?: { readonly headers: { get(name: string): string | undefined } };
}

export const isServiceError = (error: unknown): error is ServiceError =>
  error instanceof Error && error.name === "RestError";

function toFault(service: string, error: unknown): unknown {
  if (error instanceof Error && (error.name === "AbortError" || error.name === "TimeoutError"))
    return unavailableFault(service, undefined, new Error(`${service} did not respond in time`));
  if (!isServiceError(error)) return error;
  const { statusCode, response } = error;
  if (statusCode === undefined) return unavailableFault(service, undefined, error);
  // The SDK's message quotes the body, which may contain a secret or a recipient's data (G10).
  if (statusCode < 300) return unreadableServiceResponse(service, statusCode);
  if (statusCode === 408 || statusCode === 429 || statusCode >= 500)
    return unavailableFault(service, readRetryAfter(response?.headers.get("retry-after")), error);
  return error;
}

const unavailableFault = (service: string, retryAfterSeconds = defaultRetryAfterSeconds, cause?: unknown) =>
  new Fault("unavailable", `${service} is not available at the moment.`, { retryAfterSeconds, cause });

/** Returns the Fault for a successful response that cannot be read. */
export const unreadableServiceResponse = (service: string, status: number): Fault =>
  unavailableFault(service, undefined, new Error(`${service} sent an unreadable response (${status})`));
