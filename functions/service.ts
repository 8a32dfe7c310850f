import type * as z from "zod";
import type { ApiName } from "../lib/platform/settings/api-paths.ts";
import { type DeploymentSettings, isInAzure, proxiesOf } from "../lib/platform/settings/deployment-settings.ts";
import type { Environment } from "../lib/platform/settings/read-settings.ts";
import type { Deployment } from "./deployment.ts";
import type { RefusalOptions } from "./register.ts";

/**
 * A service (authentication server or connector) as functions/main.ts starts it. It is loaded only if one of its APIs
 * is served.
 */
export interface Service<Settings = unknown> {
  /** The schema of the service's own settings. */
  readonly schema: z.ZodObject;
  /** Parses the settings of the service. Throws BadSettings. */
  read(environment: Environment): Settings;
  /** Creates the clients of the service, without any call. */
  open(deployment: Deployment, settings: Settings): OpenService;
  /** Registers the routes of the named APIs so that each responds 503, because the settings are invalid (G14). */
  refuse(apis: readonly ApiName[], paths: ApiPaths, options: RefusalOptions): void;
}

interface OpenService {
  /** Registers the enabled APIs with their timers and tasks. */
  register(): void;
  /** Resolves when the service can handle calls. If absent, it can at once. */
  readonly ready?: () => Promise<void>;
}

/** The path prefix of each API (G2). */
export type ApiPaths = Pick<DeploymentSettings, "CORE_PATH" | "CLIENT_PATH" | "CONNECTOR_PATH">;

/**
 * Returns how a deployment serves calls: the log, the header for TLS, the check for listed responses, and its proxies.
 */
export function servingOf({ settings, log }: Deployment) {
  const inAzure = isInAzure(settings);
  return { log, strictTransport: inAzure, onlyListed: !inAzure, ...proxiesOf(settings) };
}

/** Returns the function that gives the base URL of an API, for absolute links in the response to a call (G2). */
export const apiUrl =
  ({ PUBLIC_BASE_URL }: Pick<DeploymentSettings, "PUBLIC_BASE_URL">, path: string) =>
  (call: URL): string =>
    [PUBLIC_BASE_URL ?? call.origin, path].filter(part => part !== "").join("/");
