import { authBackedUp } from "../../../lib/auth/restore.table.ts";
import { type AuthSettings, authSettings } from "../../../lib/auth/settings.ts";
import type { Job } from "../../../lib/platform/http/job.ts";
import { minutes } from "../../../lib/platform/time.ts";
import type { Deployment } from "../../deployment.ts";
import { apiTokensOf, identifyCaller } from "../../identify-caller.ts";
import { backUpJobs } from "../../maintenance.ts";
import { registerApi, registerJobs, registerTasks, type Service, servingOf } from "../../service.ts";
import { lowerThreadPoolPriority } from "../../thread-priority.ts";
import { clientPreflight } from "../client/check-origin.ts";
import type { AuthContext } from "../context.ts";
import { client, core, identifySession } from "../routes.ts";
import { authTasks } from "./maintenance-tasks.ts";
import { openAuthContext } from "./open-context.ts";
import { readAuthSettings } from "./read-auth-settings.ts";

/** The authentication server: the Core API, the Client API, or both (G1). */
export const authService: Service<AuthSettings> = {
  schema: authSettings,
  read: readAuthSettings,
  open(deployment, settings) {
    const auth = openAuthContext(deployment, settings);
    return {
      register() {
        register(deployment, settings, auth);
        void lowerThreadPoolPriority(deployment.log);
      },
    };
  },
};

function register(deployment: Deployment, settings: AuthSettings, auth: ReturnType<typeof openAuthContext>): void {
  const { SERVICE_APIS, CORE_PATH, CLIENT_PATH } = deployment.settings;
  const { log } = deployment;
  const common = servingOf(deployment);
  if (SERVICE_APIS.includes("core")) {
    const tokens = apiTokensOf(deployment, "core");
    const identify = identifyCaller(deployment, { api: "core", tokens });
    registerApi(core, CORE_PATH, { ...common, deps: { ...auth, apiTokens: tokens }, identify });
    registerJobs(backUpJobs(authBackedUp, deployment.settings), { deployment }, log);
    registerTasks("auth", authTasks, { ...common, deps: { ...auth, deployment } });
  }
  if (SERVICE_APIS.includes("client")) {
    const serving = { ...common, deps: auth, identify: identifySession(auth) };
    registerApi(client, CLIENT_PATH, { ...serving, preflight: clientPreflight(auth, serving) });
    registerJobs(authJobs(settings), auth, log);
  }
}

/** The timer of the Client API, which deletes expired rows (A19). */
export const authJobs = (settings: AuthSettings): Readonly<Record<string, Job<AuthContext>>> => ({
  sessionCleanup: {
    schedule: settings.CRON_SESSION_CLEANUP_SCHEDULE,
    run: ({ cleanUp }) => cleanUp(AbortSignal.timeout(minutes(8))),
  },
});
