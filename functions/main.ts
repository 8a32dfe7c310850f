import { onTerminate, writeToHost } from "../lib/azure/functions-app.ts";
import { traceInvocations } from "../lib/azure/telemetry/invocations.ts";
import { traceSdkCalls } from "../lib/azure/telemetry/sdk-calls.ts";
import { deploymentSettings, enabledApis, isInAzure } from "../lib/deployment-settings.ts";
import { createLog } from "../lib/log.ts";
import {
  BadSettings,
  combineReads,
  type Environment,
  isLocalHost,
  readSettings,
  validSettings,
} from "../lib/settings.ts";
import { openDeployment } from "./deployment.ts";
import { registerHealth } from "./register.ts";
import type { ApiPaths, Service } from "./service.ts";

/** The composition root: environment, settings, clients, the chosen APIs. The only reader of `process.env`. */
async function start(environment: Environment): Promise<void> {
  const wings = await chosenWings(environment);
  let app: ReturnType<typeof open>;
  try {
    app = open(environment, wings);
  } catch (error) {
    refuse(environment, wings, error);
    return;
  }
  const { deployment, opened } = app;
  const { log, settings, tracing } = deployment;
  if (tracing !== undefined) {
    traceInvocations(tracing, tracing.sink.flush);
    traceSdkCalls();
  }
  const ready = () => Promise.all(opened.map(wing => wing.ready?.()));
  registerHealth(async () => (await deployment.healthy()) && isDone(ready()), {
    strictTransport: isInAzure(settings),
  });
  // Begun before the first caller has to wait for it.
  void isDone(ready());
  if (opened.length === 0) log.warn("no_api", { setting: "SERVICE_APIS" });
  for (const wing of opened) wing.register();
  onTerminate(async () => {
    log.info("stopped", {});
    await tracing?.sink.close();
  });
}

/** The wings of the chosen APIs: what is not served costs nothing at the start. */
async function chosenWings(environment: Environment): Promise<readonly Service[]> {
  const named = enabledApis(environment);
  const [auth, connector] = await Promise.all([
    named.includes("core") || named.includes("client") ? import("./auth/start/wiring.ts") : undefined,
    named.includes("connector") ? import("./connector/start/wiring.ts") : undefined,
  ]);
  return [...(auth ? [auth.authService] : []), ...(connector ? [connector.connectorService] : [])];
}

/** Parses the settings and connects everything, so that whatever is wrong shows before anything is registered. */
function open(environment: Environment, wings: readonly Service[]) {
  const [settings, connects] = combineReads(
    () => readSettings(deploymentSettings, environment),
    () => combineReads(...wings.map(wing => () => wing.read(environment))),
  );
  const { WEBSITE_SITE_NAME: site, WEBSITE_INSTANCE_ID: instance } = environment;
  const deployment = openDeployment(settings, { site, instance });
  return { deployment, opened: connects.map(connect => connect(deployment)) };
}

const isDone = (work: Promise<unknown>): Promise<boolean> =>
  work.then(
    () => true,
    () => false,
  );

/**
 * Bad settings: the same routes, each refusing, and the reasons in the log. A throw while the app loads would make the host answer
 * 404 to everything (decision G14).
 */
function refuse(environment: Environment, wings: readonly Service[], error: unknown): void {
  const log = createLog(writeToHost);
  if (error instanceof BadSettings) log.error("bad_settings", { message: error.message, problems: error.problems });
  else log.error("not_started", { error });
  const options = { strictTransport: !isLocalHost(environment) };
  const { shape } = deploymentSettings;
  const paths: ApiPaths = {
    CORE_PATH: shape.CORE_PATH.parse(undefined),
    CLIENT_PATH: shape.CLIENT_PATH.parse(undefined),
    CONNECTOR_PATH: shape.CONNECTOR_PATH.parse(undefined),
    ...validSettings(deploymentSettings, environment),
  };
  registerHealth(async () => false, options);
  for (const wing of wings) wing.refuse(enabledApis(environment), paths, options);
}

await start({ ...process.env });
