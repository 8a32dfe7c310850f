import { onTerminate, writeToHost } from "../lib/azure/functions.ts";
import { traceInvocations } from "../lib/azure/telemetry-invocations.ts";
import { traceSdkCalls } from "../lib/azure/telemetry-sdk-calls.ts";
import { deploymentSettings, inAzure, namedSurfaces } from "../lib/deployment-settings.ts";
import type { Identify } from "../lib/http/surface.ts";
import { createLog } from "../lib/log.ts";
import { BadSettings, type Environment } from "../lib/settings.ts";
import { authJobs } from "./auth/jobs.ts";
import { client, core } from "./auth/routes.ts";
import { openAuth } from "./auth-deps.ts";
import { clientPreflight } from "./client-preflight.ts";
import { connectorJobs } from "./connector/jobs.ts";
import { connector } from "./connector/routes.ts";
import { openConnector } from "./connector-deps.ts";
import { callerCheck, openDeployment, tokenHashesOf } from "./deployment.ts";
import { authTasks, connectorTasks } from "./maintenance.ts";
import {
  registerHealth,
  registerJobs,
  registerRefusing,
  registerRefusingTasks,
  registerSurface,
  registerTasks,
} from "./register.ts";
import { settingsOf } from "./settings.ts";

/** The composition root: environment, settings, clients, the chosen surfaces. The only reader of `process.env`. */
function start(environment: Environment): void {
  let app: ReturnType<typeof open>;
  try {
    app = open(environment);
  } catch (error) {
    refuse(environment, error);
    return;
  }
  const { settings, deployment, auth, jobs } = app;
  const { SERVICE_APIS, CORE_PATH, CLIENT_PATH, CONNECTOR_PATH, TRUSTED_PROXIES } = settings.deployment;
  const { log } = deployment;
  const common = { log, strictTransport: inAzure(settings.deployment), trustedProxies: TRUSTED_PROXIES };

  const telemetry = deployment.tracing?.sink;
  if (deployment.tracing !== undefined) {
    traceInvocations(deployment.tracing, deployment.tracing.sink.flush);
    traceSdkCalls();
  }
  const ready = app.connector?.ready ?? (async () => {});
  registerHealth(async () => (await deployment.healthy()) && isDone(ready()), common);
  // Begun before the first caller has to wait for it.
  void isDone(ready());
  if (SERVICE_APIS.length === 0) log.warn("no_surface", { setting: "SERVICE_APIS" });
  if (auth !== undefined && SERVICE_APIS.includes("core")) {
    const hashes = tokenHashesOf(deployment, "core");
    const identify = bearer(callerCheck(deployment, { surface: "core", role: "Core.Admin", hashes }));
    registerSurface(core, CORE_PATH, { ...common, deps: { ...auth, tokenHashes: hashes }, identify });
    registerTasks("auth", authTasks, { ...common, deps: { ...auth, deployment } });
  }
  if (auth !== undefined && SERVICE_APIS.includes("client")) {
    const serving = { ...common, deps: auth, identify: anybody };
    registerSurface(client, CLIENT_PATH, serving, clientPreflight(auth.rules.allowedOrigins, serving));
    registerJobs(jobs.auth, auth, log);
  }
  if (app.connector !== undefined) {
    const hashes = tokenHashesOf(deployment, "connector");
    const identify = bearer(callerCheck(deployment, { surface: "connector", role: "Connector.Call", hashes }));
    registerSurface(connector, CONNECTOR_PATH, {
      ...common,
      deps: { ...app.connector, tokenHashes: hashes },
      identify: async (access, call) => {
        const caller = await identify(access, call);
        await ready();
        return caller;
      },
    });
    registerJobs(jobs.connector, app.connector, log);
    registerTasks("connector", connectorTasks, { ...common, deps: { ...app.connector, deployment } });
  }
  onTerminate(async () => {
    log.info("stopped", {});
    await telemetry?.close();
  });
}

/** Parses the settings and connects everything, so that whatever is wrong shows before anything is registered. */
function open(environment: Environment) {
  const settings = settingsOf(environment);
  const { WEBSITE_SITE_NAME: site, WEBSITE_INSTANCE_ID: instance } = environment;
  const deployment = openDeployment(settings.deployment, { site, instance });
  const auth = settings.auth && openAuth(deployment, settings.auth);
  const connector =
    settings.connector && openConnector(deployment, settings.connector.settings, settings.connector.idps, environment);
  const jobs = {
    auth: settings.auth ? authJobs(settings.auth) : {},
    connector: settings.connector ? connectorJobs(settings.connector.settings) : {},
  };
  return { settings, deployment, auth, connector, jobs };
}

const isDone = (work: Promise<unknown>): Promise<boolean> =>
  work.then(
    () => true,
    () => false,
  );

const anybody: Identify = async () => ({ id: "anybody" });

const bearer =
  (check: ReturnType<typeof callerCheck>): Identify =>
  (access, call) =>
    access === "open" ? anybody(access, call) : check(call.headers);

/**
 * Bad settings: the same routes, each refusing, and the reasons in the log. A throw while the app loads would make the host answer
 * 404 to everything (decision G14).
 */
function refuse(environment: Environment, error: unknown): void {
  const log = createLog(writeToHost);
  if (error instanceof BadSettings) log.error("bad_settings", { message: error.message, problems: error.problems });
  else log.error("not_started", { error });
  const options = { strictTransport: environment.CLOUD_STORAGE_CONNECTION_STRING === undefined };
  const pathOf = (name: "CORE_PATH" | "CLIENT_PATH" | "CONNECTOR_PATH"): string => {
    const field = deploymentSettings.shape[name];
    return field.safeParse(environment[name]).data ?? field.parse(undefined);
  };
  const named = namedSurfaces(environment);
  registerHealth(async () => false, options);
  if (named.includes("core")) {
    registerRefusing(core, pathOf("CORE_PATH"), options);
    registerRefusingTasks("auth", authTasks, options);
  }
  if (named.includes("client")) registerRefusing(client, pathOf("CLIENT_PATH"), options);
  if (named.includes("connector")) {
    registerRefusing(connector, pathOf("CONNECTOR_PATH"), options);
    registerRefusingTasks("connector", connectorTasks, options);
  }
}

start({ ...process.env });
