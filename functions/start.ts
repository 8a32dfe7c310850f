import { onTerminate, registerHttp } from "../lib/platform/azure/functions-app.ts";
import { respond } from "../lib/platform/http/call.ts";
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
} from "../lib/platform/settings/read-settings.ts";
import { traceInvocations, traceSdkCalls } from "../lib/platform/telemetry/instrumentation.ts";
import { openDeployment } from "./deployment.ts";
import type { Service } from "./service.ts";

/**
 * The composition root: parses the environment, opens clients and registers the enabled APIs.
 * @param limits replaces constants of `Deployment.limits`, for tests
 */
export async function start(environment: Environment, limits: object = {}): Promise<void> {
  let app: Awaited<ReturnType<typeof open>>;
  try {
    app = await open(environment, limits);
  } catch (error) {
    refuse(environment, error);
    return;
  }
  const { deployment, services, opened } = app;
  const { log, settings, tracing } = deployment;
  const inAzure = isInAzure(settings);
  const schemas = [deploymentSettings, ...services.map(service => service.schema)];
  for (const misspelt of misspeltSettings(schemas, environment)) log.warn("setting_misspelt", { ...misspelt });
  if (tracing !== undefined) {
    traceInvocations(tracing, tracing.sink.flush);
    traceSdkCalls();
  }
  const isReady = () =>
    Promise.all(opened.map(service => service.ready?.())).then(
      () => true,
      () => false,
    );
  // Starts now, so that the first caller does not have to wait.
  void isReady();
  registerHealth(async () => (await deployment.healthy()) && isReady(), inAzure);
  if (opened.length === 0) log.warn("no_api", { setting: "SERVICE_APIS" });
  for (const service of opened) service.register();
  const close = async () => {
    log.info("stopped", {});
    await tracing?.sink.close();
  };
  onTerminate(close, { inAzure });
}

/** Parses the settings and creates all clients, so that errors occur before anything is registered. */
async function open(environment: Environment, limits: object) {
  const services = await loadServices(environment);
  const [settings, ofServices] = combineReads(
    () => readSettings(deploymentSettings, environment),
    () => combineReads(...services.map(service => () => service.read(environment))),
  );
  const deployment = openDeployment(settings, { environment, limits });
  const opened = services.map((service, index) => service.open(deployment, ofServices[index]));
  return { deployment, services, opened };
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

/**
 * Registers `GET /health`, which is public and returns no data (G11), and `HEAD`, with which Azure Front Door and many
 * monitors probe. The host leaves out the body of a response to `HEAD`.
 */
function registerHealth(isHealthy: () => Promise<boolean>, strictTransport: boolean): void {
  registerHttp("health", {
    template: "health",
    methods: ["GET", "HEAD"],
    answer: call =>
      respond(call, { strictTransport }, async () =>
        (await isHealthy())
          ? { status: 200, body: { status: "ok" } }
          : { status: 503, headers: { "retry-after": "10" }, body: { status: "unavailable" } },
      ),
  });
}

/**
 * Registers one function that answers 503 to every call, and logs the error. If loading threw instead, the host would
 * respond 404 to every call (G14). The body has the error members of every API.
 */
function refuse(environment: Environment, error: unknown): void {
  const log = createLog(writeToHost);
  if (error instanceof BadSettings) log.error("bad_settings", { message: error.message, problems: error.problems });
  else log.error("not_started", { error });
  const message = "The service is not configured.";
  const body = { error: message, error_code: "api_error", error_message: message };
  const strictTransport = !isLocalHost(environment);
  registerHttp("notConfigured", {
    template: "{*path}",
    methods: ["GET", "HEAD", "POST", "DELETE", "OPTIONS"],
    answer: call =>
      respond(call, { strictTransport }, async () => ({ status: 503, headers: { "retry-after": "60" }, body })),
  });
}
