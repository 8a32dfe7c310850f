import { inAzure, proxiesOf } from "../lib/deployment-settings.ts";
import { connectorJobs } from "./connector/jobs.ts";
import { connector } from "./connector/routes.ts";
import { openConnector } from "./connector-deps.ts";
import { readConnectorSettings } from "./connector-settings.ts";
import { callerCheck, tokenHashesOf } from "./deployment.ts";
import { connectorTasks } from "./maintenance-connector.ts";
import { registerJobs, registerRefusing, registerRefusingTasks, registerSurface, registerTasks } from "./register.ts";
import { bearer, type Wing } from "./wing.ts";

/** The connector (decision G1). */
export const connectorWing: Wing = {
  read(environment) {
    const { settings, idps } = readConnectorSettings(environment);
    return deployment => {
      const context = openConnector(deployment, settings, idps, environment);
      const { CONNECTOR_PATH } = deployment.settings;
      const { log } = deployment;
      const common = { log, strictTransport: inAzure(deployment.settings), ...proxiesOf(deployment.settings) };
      return {
        ready: context.ready,
        register() {
          const hashes = tokenHashesOf(deployment, "connector");
          const identify = bearer(callerCheck(deployment, { surface: "connector", role: "Connector.Call", hashes }));
          registerSurface(connector, CONNECTOR_PATH, {
            ...common,
            deps: { ...context, tokenHashes: hashes },
            identify: async (access, call) => {
              const identity = await identify(access, call);
              await context.ready();
              return identity;
            },
          });
          registerJobs(connectorJobs(settings), context, log);
          registerTasks("connector", connectorTasks, { ...common, deps: { ...context, deployment } });
        },
      };
    };
  },
  refuse(surfaces, { CONNECTOR_PATH }, options) {
    if (!surfaces.includes("connector")) return;
    registerRefusing(connector, CONNECTOR_PATH, options);
    registerRefusingTasks("connector", connectorTasks, options);
  },
};
