import * as z from "zod";
import { authBackedUp, restoreAuth, verifyAuth } from "../../../lib/auth/restore.table.ts";
import { authTables, openAuthTables } from "../../../lib/auth/tables.table.ts";
import { type Task, task } from "../../../lib/platform/http/task.ts";
import { findBackup } from "../../../lib/platform/maintenance/read-backup.ts";
import { restore } from "../../../lib/platform/maintenance/restore.ts";
import { backUpTask, type InDeployment, resealTask, restoreInput } from "../../maintenance.ts";
import type { AuthContext } from "../context.ts";

/** Maintenance tasks for users and OTP keys, started by an administrator (G8, G13). */
export const authTasks: Readonly<Record<string, Task<AuthContext & InDeployment>>> = {
  reseal: resealTask(["otpkeys"]),
  backUp: backUpTask(authBackedUp),
  restore: task({
    input: z.lazy(() =>
      restoreInput().extend({
        /** How many uses of an OTP key since the backup to allow for. */
        otp_uses: z.int().min(0).max(1000).default(10),
      }),
    ),
    run: async (
      { backup: id, otp_uses: uses, ...how },
      { deployment, rules, keyedHash }: AuthContext & InDeployment,
    ) => {
      const backup = await findBackup(deployment, authBackedUp, id);
      const tables = openAuthTables(deployment.tables, { ...deployment, keyedHash });
      const steps = {
        verify: () => verifyAuth(backup, deployment.log),
        write: () => restoreAuth(backup, tables, { uses, windows: rules.windows }),
      };
      return { ...(await restore(backup, { tables: authTables, containers: [] }, how, steps, deployment)) };
    },
  }),
};
