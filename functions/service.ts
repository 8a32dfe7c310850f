import { registerHttp, registerTimer } from "../lib/platform/azure/functions-app.ts";
import { type Api, httpFunctions } from "../lib/platform/http/api.ts";
import { type Job, runJob } from "../lib/platform/http/job.ts";
import { type ServeOptions, serve } from "../lib/platform/http/serve.ts";
import { serveTask, type Task, type TaskOptions, taskTemplate } from "../lib/platform/http/task.ts";
import { type Log, withLogFields } from "../lib/platform/log.ts";
import { type DeploymentSettings, isInAzure } from "../lib/platform/settings/deployment-settings.ts";
import type { Environment, SettingsSchema } from "../lib/platform/settings/read-settings.ts";
import type { Deployment } from "./deployment.ts";

/**
 * A service (authentication server or connector) as functions/start.ts starts it. It is loaded only if one of its APIs
 * is served.
 */
export interface Service<Settings = unknown> {
  /** The schema of the service's own settings. */
  readonly schema: SettingsSchema;
  /** Parses the settings of the service. Throws BadSettings. */
  read(environment: Environment): Settings;
  /** Creates the clients of the service, without any call. */
  open(deployment: Deployment, settings: Settings): OpenService;
}

interface OpenService {
  /** Registers the enabled APIs with their timers and tasks. */
  register(): void;
  /** Resolves when the service can handle calls. If absent, it can at once. */
  readonly ready?: () => Promise<void>;
}

/** Returns how a deployment serves calls. */
export function servingOf({ settings, log }: Deployment) {
  const { TRUSTED_PROXIES: trustedProxies, PROXY_ID: id, PROXY_ID_HEADER: header } = settings;
  const inAzure = isInAzure(settings);
  const proxyProof = id === undefined ? undefined : { header, id };
  return { log, strictTransport: inAzure, onlyListed: !inAzure, trustedProxies, proxyProof };
}

/** Returns the function that gives the base URL of an API, for absolute links in the response to a call (G2). */
export const apiUrl =
  ({ PUBLIC_BASE_URL }: Pick<DeploymentSettings, "PUBLIC_BASE_URL">, path: string) =>
  (call: URL): string =>
    [PUBLIC_BASE_URL ?? call.origin, path].filter(part => part !== "").join("/");

/** Registers every endpoint of an API. */
export function registerApi<D, S>(api: Api<D, S>, prefix: string, serving: ServeOptions<D, S>): void {
  for (const { name, template, methods, endpoint } of httpFunctions(api, prefix)) {
    registerHttp(name, {
      template,
      methods: serving.preflight ? [...methods, "OPTIONS"] : methods,
      answer: serve(api, endpoint, template, serving),
    });
  }
}

/** Registers every job as a timer. A failed job also fails its invocation. */
export function registerJobs<D>(jobs: Readonly<Record<string, Job<D>>>, deps: D, log: Log): void {
  for (const [name, { schedule, run }] of Object.entries(jobs)) {
    registerTimer(name, schedule, invocationId =>
      withLogFields({ invocationId }, async () => void (await runJob(name, "timer", log, () => run(deps)))),
    );
  }
}

/**
 * Registers every maintenance task of a service as a function that requires the host's master key: `backUp` of the
 * connector is `connectorBackUp` (G13).
 */
export function registerTasks<D>(
  service: "auth" | "connector",
  tasks: Readonly<Record<string, Task<D>>>,
  serving: TaskOptions<D>,
): void {
  for (const [name, task] of Object.entries(tasks)) {
    registerHttp(`${service}${name.charAt(0).toUpperCase()}${name.slice(1)}`, {
      template: taskTemplate(service, name),
      methods: ["POST"],
      authLevel: "admin",
      answer: serveTask(name, task, serving),
    });
  }
}
