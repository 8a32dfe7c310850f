import { connectorSettings } from "../../../lib/connector/settings.ts";
import { connectorBackedUp } from "../../../lib/connector/storage/restore.table.ts";
import type { Identify } from "../../../lib/platform/http/api.ts";
import type { Environment } from "../../../lib/platform/settings/read-settings.ts";
import type { Deployment } from "../../deployment.ts";
import { apiTokensOf, identifyCaller } from "../../identify-caller.ts";
import { backUpJobs } from "../../maintenance.ts";
import { registerApi, registerJobs, registerTasks, type Service, servingOf } from "../../service.ts";
import type { ConnectorContext } from "../context.ts";
import { connectorJobs } from "../jobs.ts";
import { connector } from "../routes.ts";
import { connectorTasks } from "./maintenance-tasks.ts";
import { openConnectorContext } from "./open-context.ts";
import { type ConnectorStart, readConnectorSettings, usesIdpFile } from "./read-settings.ts";

/**
 * Returns the connector. Loads the parser of IdP files only if a file names the IdPs, because it is a quarter of the
 * code that the start would load.
 */
export async function loadConnectorService(environment: Environment): Promise<Service<ConnectorStart>> {
  const parseFile = usesIdpFile(environment)
    ? (await import("../../../lib/connector/idp/idp-file.ts")).readIdpFile
    : undefined;
  return { ...connectorService, read: start => readConnectorSettings(start, parseFile) };
}

const connectorService: Omit<Service<ConnectorStart>, "read"> = {
  schema: connectorSettings,
  open(deployment, start) {
    const context = openConnectorContext(deployment, start);
    return { ready: context.ready, register: () => register(deployment, start, context) };
  },
};

function register(deployment: Deployment, { settings }: ConnectorStart, context: ConnectorContext): void {
  const { log } = deployment;
  const common = servingOf(deployment);
  const tokens = apiTokensOf(deployment, "connector");
  registerApi(connector, deployment.settings.CONNECTOR_PATH, {
    ...common,
    deps: { ...context, apiTokens: tokens },
    identify: thenReady(identifyCaller(deployment, { api: "connector", tokens }), context.ready),
  });
  registerJobs(connectorJobs(settings), context, log);
  registerJobs(backUpJobs(connectorBackedUp, deployment.settings), { deployment }, log);
  registerTasks("connector", connectorTasks, { ...common, deps: { ...context, deployment } });
}

/** Waits for the IdPs after the caller was authenticated, so that a caller without a token gets 401 in any case. */
const thenReady =
  (identify: Identify<never>, ready: () => Promise<void>): Identify<never> =>
  async (access, call) => {
    const identity = await identify(access, call);
    await ready();
    return identity;
  };
