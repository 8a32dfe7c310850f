import type { AuthSettings } from "../../lib/auth/settings.ts";
import type { Job } from "../../lib/platform/http/job.ts";
import { minutes } from "../../lib/platform/time.ts";
import type { AuthContext } from "./context.ts";

/** The timer of the Client API, which deletes expired rows (A19). */
export const authJobs = (settings: AuthSettings): Readonly<Record<string, Job<AuthContext>>> => ({
  sessionCleanup: {
    schedule: settings.CRON_SESSION_CLEANUP_SCHEDULE,
    run: async ({ cleanUp }) => ({ ...(await cleanUp(AbortSignal.timeout(minutes(8)))) }),
  },
});
