import * as z from "zod";
import { backUp } from "../lib/azure/maintenance/back-up.ts";
import type { Holdings } from "../lib/azure/maintenance/backup-files.ts";
import { reseal } from "../lib/azure/maintenance/reseal.ts";
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

/** Copies a wing's tables and containers away (decision G13). */
export const backUpTask = <D extends InDeployment>(holdings: Holdings): Task<D> =>
  task({
    input: noInput,
    run: async (_, { deployment }: D) => ({
      ...(await backUp(holdings, { ...deployment, keepMs: days(deployment.settings.BACKUP_KEEP_DAYS) })),
    }),
  });
