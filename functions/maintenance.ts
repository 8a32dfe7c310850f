import * as z from "zod";
import { backUp } from "../lib/azure/maintenance/back-up.ts";
import type { BackupScope, ServiceName } from "../lib/azure/maintenance/backup-files.ts";
import { reseal } from "../lib/azure/maintenance/reseal.ts";
import type { DeploymentSettings } from "../lib/deployment-settings.ts";
import type { Job } from "../lib/http/job.ts";
import { noInput, type Task, task } from "../lib/http/task.ts";
import { days } from "../lib/time.ts";
import { type Deployment, freshSealer } from "./deployment.ts";

/** What maintenance works on beside the wing's own ports: whole tables and containers. */
export interface InDeployment {
  readonly deployment: Deployment;
}

/** What a restore is told. */
export const restoreInput = z.strictObject({
  /** The id that `backUp` gave. */
  backup: z.string().regex(/^[\w.-]+$/),
  /** Whether what is in the tables may be lost. */
  replace: z.boolean().default(false),
  /** Whether users, otpkeys and requests with a row that cannot be read may be left out. */
  skip_unreadable: z.boolean().default(false),
});

/** Seals anew what lies in these tables (decision G8). */
export const resealTask = <D extends InDeployment>(tables: readonly string[]): Task<D> =>
  task({
    input: noInput,
    // A rotation of a minute ago is not yet in the cached key.
    run: async (_, { deployment }: D) => ({
      ...(await reseal(tables, { ...deployment, sealer: freshSealer(deployment) })),
    }),
  });

/** Creates a backup of a service's tables and containers on request (G13). */
export const backUpTask = <D extends InDeployment>(scope: BackupScope): Task<D> =>
  task({ input: noInput, run: (_, deps: D) => createBackup(scope, deps) });

/** Returns the timer that creates backups of a service, or no timer if `CRON_BACKUP_SCHEDULE` is `none` (G13). */
export const backUpJobs = (
  scope: BackupScope,
  { CRON_BACKUP_SCHEDULE: schedule }: Pick<DeploymentSettings, "CRON_BACKUP_SCHEDULE">,
): Readonly<Record<string, Job<InDeployment>>> =>
  schedule === "none" ? {} : { [backUpJobNames[scope.service]]: { schedule, run: deps => createBackup(scope, deps) } };

const backUpJobNames: Readonly<Record<ServiceName, string>> = {
  auth: "scheduledAuthBackUp",
  connector: "scheduledConnectorBackUp",
};

const createBackup = async (scope: BackupScope, { deployment }: InDeployment) => ({
  ...(await backUp(scope, { ...deployment, keepMs: days(deployment.settings.BACKUP_KEEP_DAYS) })),
});
