import * as z from "zod";
import type { Job } from "../lib/platform/http/job.ts";
import { noInput, type Task, task } from "../lib/platform/http/task.ts";
import { backUp } from "../lib/platform/maintenance/back-up.ts";
import type { BackupScope, ServiceName } from "../lib/platform/maintenance/backup-files.ts";
import { reseal } from "../lib/platform/maintenance/reseal.ts";
import type { DeploymentSettings } from "../lib/platform/settings/deployment-settings.ts";
import { days } from "../lib/platform/time.ts";
import { type Deployment, freshSealer } from "./deployment.ts";

/** The deployment, for tasks that process whole tables and containers. */
export interface InDeployment {
  readonly deployment: Deployment;
}

/** Returns the schema of the input of a restore. */
export const restoreInput = () =>
  z.strictObject({
    backup: z
      .string()
      .regex(/^[\w.-]+$/)
      .describe("The id of a backup, as the backup reports it."),
    replace: z.boolean().default(false).describe("Whether to replace existing rows and blobs."),
    skip_unreadable: z
      .boolean()
      .default(false)
      .describe("Whether to skip users, OTP keys and requests with an unreadable row."),
  });

/** Returns the schema of a number in a report. */
export const count = (description: string) => z.int().min(0).describe(description);

const counts = (description: string) => z.record(z.string(), z.int().min(0)).describe(description);

/** Returns the task that seals all values in these tables again under the current key version (G8). */
export const resealTask = <D extends InDeployment>(tables: readonly string[]): Task<D> =>
  task({
    summary: "Seal all secrets again under the current key",
    description:
      "Run it after the sealing key was rotated. It can be repeated at any time. When `failed` is 0, the old version " +
      "of the key is no longer needed.",
    input: noInput,
    report: z.lazy(() =>
      z
        .object({
          version: z.string().describe("Version of the key that the values are sealed under now."),
          rows: count("Rows that were read."),
          resealed: count("Of those, rows that were sealed again."),
          failed: count("Of those, rows that could not be decrypted. The log names them."),
        })
        .meta({ id: "ResealReport" }),
    ),
    // Uses a new sealer, because the cached key can be older than a rotation.
    run: async (_, { deployment }: D) => ({
      ...(await reseal(tables, { ...deployment, sealer: freshSealer(deployment) })),
    }),
  });

/** Creates a backup of a service's tables and containers on request (G13). */
export const backUpTask = <D extends InDeployment>(scope: BackupScope): Task<D> =>
  task({
    summary: "Create a backup",
    description:
      "Copies all rows and blobs of the service into the container `backups`, and removes backups that are older " +
      "than `BACKUP_KEEP_DAYS`. A timer does the same every day.",
    input: noInput,
    report: z.lazy(() =>
      z
        .object({
          backup: z.string().describe("Id of the backup, for a restore."),
          rows: counts("Rows by table."),
          blobs: counts("Blobs by container."),
          removed: count("Old backups that were removed."),
          copied: count(
            "Files that were copied to the second storage account, also of older backups that it lacked. Absent without " +
              "`BACKUP_STORAGE_ENDPOINT`.",
          ).optional(),
        })
        .meta({ id: "BackUpReport" }),
    ),
    run: (_, deps: D) => createBackup(scope, deps),
  });

/** Returns the timer that creates backups of a service, or no timer if `CRON_BACKUP_SCHEDULE` is `none`. */
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
