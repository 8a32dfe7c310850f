import { randomBytes } from "node:crypto";
import { availableParallelism } from "node:os";
import { setTimeout as wait } from "node:timers/promises";
import { type Blobs, openBlobs } from "../lib/platform/azure/blobs.ts";
import { type CacheOptions, cachedSecret } from "../lib/platform/azure/cached-secret.ts";
import { keyRing } from "../lib/platform/azure/key-ring.ts";
import { logExpiry, openSecrets, type Secrets } from "../lib/platform/azure/secrets.ts";
import { isLocalService, localCredential, managedIdentity } from "../lib/platform/azure/services.ts";
import { createSealer, type KeyRing, type Sealer } from "../lib/platform/crypto.ts";
import { createLog, type Log, writeToHost } from "../lib/platform/log.ts";
import { type DeploymentSettings, version } from "../lib/platform/settings/deployment-settings.ts";
import type { Environment } from "../lib/platform/settings/read-settings.ts";
import { openTables, type Tables } from "../lib/platform/tables/tables.ts";
import { openTelemetry, type Telemetry } from "../lib/platform/telemetry/telemetry-sink.ts";
import type { Tracer } from "../lib/platform/telemetry.ts";
import { instant, minutes, type Now, seconds } from "../lib/platform/time.ts";
import { createHealthCheck } from "./health.ts";
import { createPreciseClock } from "./precise-clock.ts";

/** The clients and other dependencies that all APIs share. Each client connects at its first call. */
export interface Deployment {
  readonly settings: DeploymentSettings;
  readonly log: Log;
  readonly now: Now;
  readonly random: (bytes: number) => Uint8Array;
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>;
  readonly fetch: typeof fetch;
  /**
   * Replaces constants of `deploymentLimits`, `authLimits`, `fixedIntervals` and `connectorLimits`, because tests
   * cannot wait that long. Empty in production.
   */
  readonly limits: object;
  /** Number of processor cores that this process can use. */
  readonly cores: number;
  readonly tables: Tables;
  readonly blobs: Blobs;
  /** The second place of backups, if the settings name one (G13). */
  readonly secondBlobs?: Blobs | undefined;
  readonly secrets: Secrets;
  /** The key-encryption key, the secret `data-encryption-key`. */
  readonly dataKeyRing: KeyRing;
  readonly sealer: Sealer;
  /** How long secrets are cached. */
  readonly caching: CacheOptions;
  readonly healthy: () => Promise<boolean>;
  /**
   * Returns a function that returns the cached value of a secret. If the secret is missing, it logs `secret_missing`
   * and throws.
   */
  secretText(name: string): () => Promise<string>;
  /** The app's own identity. */
  readonly identity: ReturnType<typeof managedIdentity>;
  /** Absent if telemetry goes to the console only. */
  readonly tracing?: Tracing;
}

/** The names that the platform gives the app and this instance. */
interface Platform {
  readonly site?: string | undefined;
  readonly instance?: string | undefined;
}

interface Tracing extends Tracer {
  readonly sink: Telemetry;
}

/**
 * Returns the names that the platform gives this instance. Flex Consumption has no `WEBSITE_INSTANCE_ID`, other plans
 * have no name of a pod or container.
 */
export const platformOf = (environment: Environment): Platform => ({
  site: environment.WEBSITE_SITE_NAME,
  instance: environment.WEBSITE_INSTANCE_ID || environment.WEBSITE_POD_NAME || environment.CONTAINER_NAME || undefined,
});

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

/**
 * Creates the clients that all APIs share, without any call.
 * @param options.limits see `Deployment.limits`
 */
export function openDeployment(
  settings: DeploymentSettings,
  { platform = {}, limits = {} }: { readonly platform?: Platform; readonly limits?: object } = {},
): Deployment {
  const now: Now = () => instant(Date.now());
  const { storageCallMs: timeoutMs, ...ages } = { ...deploymentLimits, ...limits };
  const identity = managedIdentity({ clientId: settings.AZURE_CLIENT_ID, timeoutMs });
  const tracing = openTracing(settings, platform, { identity, timeoutMs });
  const log = createLog(tracing?.sink.writeLine ?? writeToHost, levels[settings.LOGGING_LEVEL_COM_SERVICE]);
  const connectionString = settings.CLOUD_STORAGE_CONNECTION_STRING;
  const access = (endpoint = "") =>
    connectionString === undefined ? { endpoint, credential: identity } : { connectionString };
  const vault = settings.CLOUD_KEY_VAULT_ENDPOINT;
  const tables = openTables({ ...access(settings.CLOUD_TABLES_ENDPOINT), timeoutMs });
  const credential = isLocalService(vault) ? localCredential : identity;
  const secrets = logExpiry(openSecrets({ endpoint: vault, credential, timeoutMs }), now);
  const caching: CacheOptions = {
    maxAgeMs: ages.secretMaxAgeMs,
    refreshAfterMs: ages.secretRefreshMs,
    now,
    log,
  };
  const dataKeyRing = keyRing(secrets, dataKey, caching);
  return {
    settings,
    log,
    now,
    random: size => randomBytes(size),
    sleep: (ms, signal) => wait(ms, undefined, signal && { signal }),
    fetch: globalThis.fetch,
    limits,
    cores: availableParallelism(),
    tables,
    blobs: openBlobs({ ...access(settings.CLOUD_STORAGE_BLOB_ENDPOINT), timeoutMs }),
    ...(settings.BACKUP_STORAGE_ENDPOINT !== undefined && {
      secondBlobs: openBlobs({ endpoint: settings.BACKUP_STORAGE_ENDPOINT, credential: identity, timeoutMs }),
    }),
    secrets,
    caching,
    dataKeyRing,
    sealer: createSealer(dataKeyRing),
    healthy: createHealthCheck(
      {
        storage: async () => void (await tables.table(healthTable(settings)).get("health", "health")),
        vault: async () => void (await secrets.get(dataKey)),
      },
      { now, log, maxAgeMs: ages.healthMaxAgeMs, timeLimitMs: seconds(5) },
    ),
    secretText(name) {
      const cached = cachedSecret(name, () => secrets.get(name), caching);
      return async () => {
        const secret = await cached.get();
        if (secret !== undefined) return secret.value;
        log.error("secret_missing", { secret: name });
        throw new Error(`The secret ${name} is missing in Key Vault.`);
      };
    },
    identity,
    ...(tracing && { tracing }),
  };
}

/** Returns the sink for spans, metrics and log events; undefined if the settings configure none. */
function openTracing(
  settings: DeploymentSettings,
  { site, instance }: Platform,
  { identity, timeoutMs }: { readonly identity: Deployment["identity"]; readonly timeoutMs: number },
): Tracing | undefined {
  const clock = createPreciseClock(
    () => Date.now(),
    () => performance.now(),
  );
  const authentication = settings.APPLICATIONINSIGHTS_AUTHENTICATION_STRING;
  const [, clientId] = /(?:^|;)ClientId=([^;]+)/i.exec(authentication ?? "") ?? [];
  const sink = openTelemetry({
    connectionString: settings.APPLICATIONINSIGHTS_CONNECTION_STRING,
    ...(authentication && { credential: clientId === undefined ? identity : managedIdentity({ clientId, timeoutMs }) }),
    otlpEndpoint: settings.OTEL_EXPORTER_OTLP_ENDPOINT,
    resource: {
      "service.name": site ?? "fido-credential-backend",
      "service.version": version,
      ...(instance !== undefined && { "service.instance.id": instance }),
    },
    now: clock,
    writeLine: writeToHost,
  });
  return sink && { sink, now: clock, random: size => randomBytes(size) };
}

/** Returns a table of the deployment for the health check: each service has its own storage account (G1). */
const healthTable = ({ SERVICE_APIS }: DeploymentSettings): string =>
  SERVICE_APIS.includes("connector") ? "due" : "users";

/** Returns a sealer with an empty cache, which reads the newest key. */
export const freshSealer = ({ secrets, caching }: Pick<Deployment, "secrets" | "caching">): Sealer =>
  createSealer(keyRing(secrets, dataKey, caching));

const dataKey = "data-encryption-key";
const levels = { DEBUG: "debug", INFO: "info", WARN: "warn", ERROR: "error" } as const;
