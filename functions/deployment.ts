import { randomBytes } from "node:crypto";
import { availableParallelism } from "node:os";
import { setTimeout as wait } from "node:timers/promises";
import { openBlobs } from "../lib/platform/azure/blobs.ts";
import { type CacheOptions, cachedSecret, keyRing } from "../lib/platform/azure/cached-secrets.ts";
import { logExpiry, openSecrets } from "../lib/platform/azure/secrets.ts";
import { isLocalService, localCredential, managedIdentity } from "../lib/platform/azure/services.ts";
import { openTables } from "../lib/platform/azure/tables.ts";
import { createSealer } from "../lib/platform/crypto.ts";
import { createLog, writeToHost } from "../lib/platform/log.ts";
import { type DeploymentSettings, version } from "../lib/platform/settings/deployment-settings.ts";
import type { Environment } from "../lib/platform/settings/read-settings.ts";
import { openTelemetry } from "../lib/platform/telemetry/telemetry-sink.ts";
import { clockOf, minutes, seconds } from "../lib/platform/time.ts";
import { createHealthCheck } from "./health.ts";

/** The clients and other dependencies that all APIs share. Each client connects at its first call. */
export type Deployment = ReturnType<typeof openDeployment>;

/** Time limits and ages of what all APIs share, in milliseconds. */
export const deploymentLimits = {
  /** Limit of one storage call with its retries: callers wait for a few of them, and most give up after a minute. */
  storageCallMs: seconds(15),
  /**
   * A rotated secret is in use after this time without a restart, and each process reads a secret so rarely that Key
   * Vault does not throttle.
   */
  secretMaxAgeMs: minutes(5),
  /**
   * Minimum time between two reads that unknown API tokens cause, which any caller can send, and to the next after a
   * failed read.
   */
  secretRefreshMs: minutes(1),
  /** Any caller can call `/health`: storage and Key Vault are checked no more often. */
  healthMaxAgeMs: seconds(10),
};

const random: (size: number) => Uint8Array = randomBytes;
const dataKey = "data-encryption-key";
const levels = { DEBUG: "info", INFO: "info", WARN: "warn", ERROR: "error" } as const;

/**
 * Creates the clients that all APIs share, without any call.
 * @param options.environment names this instance
 * @param options.limits replaces constants of `deploymentLimits`, `authLimits`, `fixedIntervals` and `connectorLimits`,
 * because tests cannot wait that long. Empty in production
 */
export function openDeployment(
  settings: DeploymentSettings,
  { environment = {}, limits = {} }: { readonly environment?: Environment; readonly limits?: object } = {},
) {
  const now = clockOf(Date.now);
  const { storageCallMs: timeoutMs, ...ages } = { ...deploymentLimits, ...limits };
  /** The app's own identity. */
  const identity = managedIdentity({ clientId: settings.AZURE_CLIENT_ID, timeoutMs });
  const tracing = openTracing(settings, environment, timeoutMs);
  const log = createLog(tracing?.sink.writeLine ?? writeToHost, levels[settings.LOGGING_LEVEL_COM_SERVICE]);
  const connectionString = settings.CLOUD_STORAGE_CONNECTION_STRING;
  const access = (endpoint = "") =>
    connectionString === undefined ? { endpoint, credential: identity } : { connectionString };
  const vault = settings.CLOUD_KEY_VAULT_ENDPOINT;
  const secondBlobs = settings.BACKUP_STORAGE_ENDPOINT;
  const tables = openTables({ ...access(settings.CLOUD_TABLES_ENDPOINT), timeoutMs });
  const credential = isLocalService(vault) ? localCredential : identity;
  const secrets = logExpiry(openSecrets({ endpoint: vault, credential, timeoutMs }), now);
  const caching: CacheOptions = {
    maxAgeMs: ages.secretMaxAgeMs,
    refreshAfterMs: ages.secretRefreshMs,
    now,
    log,
  };
  /** The key-encryption key. */
  const dataKeyRing = keyRing(secrets, dataKey, caching);
  return {
    settings,
    log,
    now,
    random,
    sleep: (ms: number, signal?: AbortSignal): Promise<void> => wait(ms, undefined, signal && { signal }),
    fetch: globalThis.fetch,
    limits,
    /** Number of processor cores that this process can use. */
    cores: availableParallelism(),
    tables,
    blobs: openBlobs({ ...access(settings.CLOUD_STORAGE_BLOB_ENDPOINT), timeoutMs }),
    /** The second place of backups, if the settings name one (G13). */
    secondBlobs:
      secondBlobs === undefined ? undefined : openBlobs({ endpoint: secondBlobs, credential: identity, timeoutMs }),
    secrets,
    caching,
    dataKeyRing,
    sealer: createSealer(dataKeyRing),
    /** Returns a sealer with an empty cache, which reads the newest key. */
    freshSealer: () => createSealer(keyRing(secrets, dataKey, caching)),
    healthy: createHealthCheck(
      {
        storage: async () => void (await tables.table(healthTable(settings)).get("health", "health")),
        vault: async () => void (await secrets.get(dataKey)),
      },
      { now, log, maxAgeMs: ages.healthMaxAgeMs, timeLimitMs: seconds(5) },
    ),
    /**
     * Returns a function that returns the cached value of a secret. If the secret is missing, it logs `secret_missing`
     * and throws.
     */
    secretText(name: string): () => Promise<string> {
      const cached = cachedSecret(name, () => secrets.get(name), caching);
      return async () => {
        const secret = await cached.get();
        if (secret !== undefined) return secret.value;
        log.error("secret_missing", { secret: name });
        throw new Error(`The secret ${name} is missing in Key Vault.`);
      };
    },
    identity,
    /** Undefined if telemetry goes to the console only. */
    tracing,
  };
}

/** Returns the sink for spans, metrics and log events; undefined if the settings configure none. */
function openTracing(settings: DeploymentSettings, environment: Environment, timeoutMs: number) {
  const authentication = settings.APPLICATIONINSIGHTS_AUTHENTICATION_STRING;
  const [, clientId = settings.AZURE_CLIENT_ID] = /(?:^|;)ClientId=([^;]+)/i.exec(authentication ?? "") ?? [];
  // Flex Consumption has no WEBSITE_INSTANCE_ID, other plans have no name of a pod or container.
  const instance = environment.WEBSITE_INSTANCE_ID || environment.WEBSITE_POD_NAME || environment.CONTAINER_NAME;
  const sink = openTelemetry({
    connectionString: settings.APPLICATIONINSIGHTS_CONNECTION_STRING,
    credential: authentication === undefined ? undefined : managedIdentity({ clientId, timeoutMs }),
    otlpEndpoint: settings.OTEL_EXPORTER_OTLP_ENDPOINT,
    resource: {
      "service.name": environment.WEBSITE_SITE_NAME ?? "fido-credential-backend",
      "service.version": version,
      ...(instance && { "service.instance.id": instance }),
    },
    now: Date.now,
    writeLine: writeToHost,
  });
  return sink && { sink, now: Date.now, random };
}

/** Returns a table of the deployment for the health check: each service has its own storage account (G1). */
const healthTable = ({ SERVICE_APIS }: DeploymentSettings): string =>
  SERVICE_APIS.includes("connector") ? "due" : "users";
