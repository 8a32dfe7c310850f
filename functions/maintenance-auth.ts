import * as z from "zod";
import { authTables, openShelves } from "../lib/azure/auth-shelves.ts";
import { openBackup } from "../lib/azure/maintenance/backup-files.ts";
import { makeEmpty } from "../lib/azure/maintenance/restore.ts";
import { authBackedUp, restoreAuth } from "../lib/azure/maintenance/restore-auth.ts";
import { type Task, task } from "../lib/http/task.ts";
import type { AuthContext } from "./auth/context.ts";
import { backUpTask, type InDeployment, resealTask, restoreInput } from "./maintenance.ts";

/** Maintenance of users and keys, which an administrator starts (decisions G8, G13). */
export const authTasks: Readonly<Record<string, Task<AuthContext & InDeployment>>> = {
  reseal: resealTask(["otpkeys"]),
  backUp: backUpTask({ wing: "auth", tables: authBackedUp, containers: [] }),
  restore: task({
    input: restoreInput.extend({ otp_uses: z.int().min(0).max(1000).default(10) }),
    run: async ({ backup: id, replace, otp_uses: uses }, { deployment, rules }: AuthContext & InDeployment) => {
      const backup = await openBackup(deployment.blobs, "auth", id);
      await makeEmpty({ tables: authTables, containers: [] }, replace, deployment);
      const shelves = openShelves(deployment.tables, deployment);
      return { ...(await restoreAuth(backup, shelves, { uses, windows: rules.windows })) };
    },
  }),
};
