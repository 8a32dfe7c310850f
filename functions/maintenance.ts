import * as z from "zod";
import type { Job } from "../lib/platform/http/job.ts";
import { noInput, type Task, task } from "../lib/platform/http/task.ts";
import { backUp } from "../lib/platform/maintenance/back-up.ts";
import type { BackupScope } from "../lib/platform/maintenance/read-backup.ts";
import { reseal } from "../lib/platform/maintenance/reseal.ts";
import type { DeploymentSettings } from "../lib/platform/settings/deployment-settings.ts";
import { days } from "../lib/platform/time.ts";
import type { Deployment } from "./deployment.ts";

/** The deployment, for tasks that process whole tables and containers. */
export interface InDeployment {
  readonly deployment: Deployment;
}

/** Returns the schema of the input of a restore. */
export const restoreInput = () =>
  z.strictObject({
    /** As the task that created the backup reported it. */
    backup: z.string().regex(/^[\w.-]+$/),
    /** Whether to replace existing rows and blobs. */
    replace: z.boolean().default(false),
    /** Whether to skip users, OTP keys and requests with an unreadable row. */
    skip_unreadable: z.boolean().default(false),
  });

/** Returns the task that seals all values in these tables again under the current key version (G8). */
export const resealTask = <D extends InDeployment>(tables: readonly string[]): Task<D> =>
  task({
    input: noInput,
    // Uses a new sealer, because the cached key can be older than a rotation.
    run: (_, { deployment }: D) => reseal(tables, { ...deployment, sealer: deployment.freshSealer() }),
  });

/** Creates a backup of a service's tables and containers on request (G13). */
export const backUpTask = <D extends InDeployment>(scope: BackupScope): Task<D> =>
  task({ input: noInput, run: (_, deps: D) => createBackup(scope, deps) });

/** Returns the timer that creates backups of a service, or no timer if `CRON_BACKUP_SCHEDULE` is `none`. */
export function backUpJobs(
  scope: BackupScope,
  { CRON_BACKUP_SCHEDULE: schedule }: Pick<DeploymentSettings, "CRON_BACKUP_SCHEDULE">,
): Readonly<Record<string, Job<InDeployment>>> {
  const name = scope.service === "auth" ? "scheduledAuthBackUp" : "scheduledConnectorBackUp";
  return schedule === "none" ? {} : { [name]: { schedule, run: deps => createBackup(scope, deps) } };
}

const createBackup = (scope: BackupScope, { deployment }: InDeployment) =>
  backUp(scope, { ...deployment, keepMs: days(deployment.settings.BACKUP_KEEP_DAYS) });
