import { onTerminate } from "../lib/platform/azure/functions-app.ts";
import { createLog, writeToHost } from "../lib/platform/log.ts";
import { enabledApis } from "../lib/platform/settings/api-paths.ts";
import { deploymentSettings, isInAzure } from "../lib/platform/settings/deployment-settings.ts";
import {
  BadSettings,
  combineReads,
  type Environment,
  isLocalHost,
  misspeltSettings,
  readSettings,
  validSettings,
} from "../lib/platform/settings/read-settings.ts";
import { traceInvocations, traceSdkCalls } from "../lib/platform/telemetry/instrumentation.ts";
import { openDeployment, platformOf } from "./deployment.ts";
import { registerHealth } from "./register.ts";
import type { ApiPaths, Service } from "./service.ts";

/**
 * The composition root: parses the environment, opens clients and registers the enabled APIs.
 * @param limits replaces constants of `Deployment.limits`, for tests
 */
export async function start(environment: Environment, limits: object = {}): Promise<void> {
  const services = await loadServices(environment);
  let app: ReturnType<typeof open>;
  try {
    app = open(environment, services, limits);
  } catch (error) {
    refuse(environment, services, error);
    return;
  }
  const { deployment, opened } = app;
  const { log, settings, tracing } = deployment;
  const schemas = [deploymentSettings, ...services.map(service => service.schema)];
  for (const misspelt of misspeltSettings(schemas, environment)) log.warn("setting_misspelt", { ...misspelt });
  if (tracing !== undefined) {
    traceInvocations(tracing, tracing.sink.flush);
    traceSdkCalls();
  }
  const ready = () => Promise.all(opened.map(service => service.ready?.()));
  registerHealth(async () => (await deployment.healthy()) && isDone(ready()), {
    strictTransport: isInAzure(settings),
  });
  // Starts now, so that the first caller does not have to wait.
  void isDone(ready());
  if (opened.length === 0) log.warn("no_api", { setting: "SERVICE_APIS" });
  for (const service of opened) service.register();
  const close = async () => {
    log.info("stopped", {});
    await tracing?.sink.close();
  };
  onTerminate(close, { inAzure: isInAzure(settings) });
}

/** Loads the services of the enabled APIs only, which keeps the cold start short. */
async function loadServices(environment: Environment): Promise<readonly Service[]> {
  const named = enabledApis(environment);
  const [auth, connector] = await Promise.all([
    named.includes("core") || named.includes("client") ? import("./auth/start/auth-service.ts") : undefined,
    named.includes("connector")
      ? import("./connector/start/connector-service.ts").then(module => module.loadConnectorService(environment))
      : undefined,
  ]);
  return [...(auth ? [auth.authService] : []), ...(connector ? [connector] : [])];
}

/** Parses the settings and creates all clients, so that errors occur before anything is registered. */
function open(environment: Environment, services: readonly Service[], limits: object) {
  const [settings, ofServices] = combineReads(
    () => readSettings(deploymentSettings, environment),
    () => combineReads(...services.map(service => () => service.read(environment))),
  );
  const deployment = openDeployment(settings, { platform: platformOf(environment), limits });
  return { deployment, opened: services.map((service, index) => service.open(deployment, ofServices[index])) };
}

const isDone = (work: Promise<unknown>): Promise<boolean> =>
  work.then(
    () => true,
    () => false,
  );

/**
 * Registers the same routes so that each responds 503, and logs the error. If loading threw instead, the host would
 * respond 404 to every call (G14).
 */
function refuse(environment: Environment, services: readonly Service[], error: unknown): void {
  const log = createLog(writeToHost);
  if (error instanceof BadSettings) log.error("bad_settings", { message: error.message, problems: error.problems });
  else log.error("not_started", { error });
  const options = { strictTransport: !isLocalHost(environment) };
  const { shape } = deploymentSettings;
  const paths: ApiPaths = {
    CORE_PATH: shape.CORE_PATH.parse(undefined),
    CLIENT_PATH: shape.CLIENT_PATH.parse(undefined),
    CONNECTOR_PATH: shape.CONNECTOR_PATH.parse(undefined),
    ...validSettings(deploymentSettings, environment, ["CORE_PATH", "CLIENT_PATH", "CONNECTOR_PATH"]),
  };
  registerHealth(async () => false, options);
  const refusal = { ...options, routes: new Set<string>() };
  for (const service of services) service.refuse(enabledApis(environment), paths, refusal);
}
