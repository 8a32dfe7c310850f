import { connectorBackedUp } from "../../../lib/azure/connector/restore.ts";
import { isInAzure, proxiesOf } from "../../../lib/deployment-settings.ts";
import { callerCheck, tokenHashesOf } from "../../deployment.ts";
import { backUpJobs } from "../../maintenance.ts";
import { registerApi, registerJobs, registerRefusing, registerRefusingTasks, registerTasks } from "../../register.ts";
import { bearer, type Service } from "../../service.ts";
import { connectorJobs } from "../jobs.ts";
import { connector } from "../routes.ts";
import { openConnector } from "./deps.ts";
import { readConnectorSettings } from "./settings.ts";
import { connectorTasks } from "./tasks.ts";

/** The connector (decision G1). */
export const connectorService: Service = {
  read(environment) {
    const { settings, idps } = readConnectorSettings(environment);
    return deployment => {
      const context = openConnector(deployment, settings, idps, environment);
      const { CONNECTOR_PATH } = deployment.settings;
      const { log } = deployment;
      const common = { log, strictTransport: isInAzure(deployment.settings), ...proxiesOf(deployment.settings) };
      return {
        ready: context.ready,
        register() {
          const hashes = tokenHashesOf(deployment, "connector");
          const identify = bearer(callerCheck(deployment, { api: "connector", role: "Connector.Call", hashes }));
          registerApi(connector, CONNECTOR_PATH, {
            ...common,
            deps: { ...context, tokenHashes: hashes },
            identify: async (access, call) => {
              const identity = await identify(access, call);
              await context.ready();
              return identity;
            },
          });
          registerJobs(connectorJobs(settings), context, log);
          registerJobs(backUpJobs(connectorBackedUp, deployment.settings), { deployment }, log);
          registerTasks("connector", connectorTasks, { ...common, deps: { ...context, deployment } });
        },
      };
    };
  },
  refuse(apis, { CONNECTOR_PATH }, options) {
    if (!apis.includes("connector")) return;
    registerRefusing(connector, CONNECTOR_PATH, options);
    registerRefusingTasks("connector", connectorTasks, options);
  },
};
