import { writeToHost } from "../lib/azure/functions.ts";
import { inAzure } from "../lib/deployment-settings.ts";
import { createLog } from "../lib/log.ts";
import { BadSettings, type Environment } from "../lib/settings.ts";
import { connectorJobs } from "./connector/jobs.ts";
import { connector } from "./connector/routes.ts";
import { openConnector } from "./connector-deps.ts";
import { callerCheck, openDeployment } from "./deployment.ts";
import { registerHealth, registerJobs, registerRefusing, registerSurface } from "./register.ts";
import { type Settings, settingsOf } from "./settings.ts";

/** The composition root: environment, settings, clients, the chosen surfaces. The only reader of `process.env`. */
function start(environment: Environment): void {
  let settings: Settings;
  try {
    settings = settingsOf(environment);
  } catch (error) {
    if (!(error instanceof BadSettings)) throw error;
    refuse(environment, error);
    return;
  }
  const deployment = openDeployment(settings.deployment);
  registerHealth(deployment.healthy);
  if (settings.deployment.SERVICE_APIS.length === 0) deployment.log.warn("no_surface", { setting: "SERVICE_APIS" });
  if (settings.connector !== undefined) {
    const context = openConnector(deployment, settings.connector.settings, settings.connector.idps, environment);
    const callers = callerCheck(deployment, { surface: "connector", role: "Connector.Call" });
    registerSurface(connector, settings.deployment.CONNECTOR_PATH, {
      deps: context,
      identify: (access, call) => (access === "open" ? Promise.resolve({ id: "anybody" }) : callers(call.headers)),
      log: deployment.log,
      strictTransport: inAzure(settings.deployment),
    });
    registerJobs(connectorJobs(settings.connector.settings), context, deployment.log);
  }
}

/** Bad settings: the same routes, each refusing, and the reasons in the log. A throw here would make the host answer 404 to all (decision G14). */
function refuse(environment: Environment, { message, problems }: BadSettings): void {
  createLog(writeToHost).error("bad_settings", { message, problems });
  registerHealth(async () => false);
  registerRefusing(connector, environment["CONNECTOR_PATH"] ?? "");
}

start({ ...process.env });
