import * as z from "zod";
import { authTables, openShelves } from "../lib/azure/auth-shelves.ts";
import { responsesContainer } from "../lib/azure/connector-blobs.ts";
import { connectorTables } from "../lib/azure/connector-tables.ts";
import { backUp, type Holdings } from "../lib/azure/maintenance/back-up.ts";
import { openBackup } from "../lib/azure/maintenance/backup-files.ts";
import { reseal } from "../lib/azure/maintenance/reseal.ts";
import { makeEmpty, restoreBlobs } from "../lib/azure/maintenance/restore.ts";
import { authBackedUp, restoreAuth } from "../lib/azure/maintenance/restore-auth.ts";
import { connectorBackedUp, restoreConnector } from "../lib/azure/maintenance/restore-connector.ts";
import { checkPeers } from "../lib/connector/check-peers.ts";
import { noInput, type Task, task } from "../lib/http/task.ts";
import type { AuthContext } from "./auth/context.ts";
import type { ConnectorContext } from "./connector/context.ts";
import { type Deployment, freshSealer } from "./deployment.ts";

/** What maintenance works on beside the wing's own ports: whole tables and containers. */
export interface InDeployment {
  readonly deployment: Deployment;
}

const restoreInput = z.strictObject({
  /** The id that `backUp` gave. */
  backup: z.string().regex(/^[\w.-]+$/),
  /** Whether what is in the tables may be lost. */
  replace: z.boolean().default(false),
});

const resealTask = <D extends InDeployment>(tables: readonly string[]): Task<D> =>
  task({
    input: noInput,
    // A rotation of a minute ago is not yet in the cached key.
    run: async (_, { deployment }: D) => ({
      ...(await reseal(tables, { ...deployment, sealer: freshSealer(deployment) })),
    }),
  });

const backUpTask = <D extends InDeployment>(holdings: Holdings): Task<D> =>
  task({
    input: noInput,
    run: async (_, { deployment }: D) => ({
      ...(await backUp(holdings, { ...deployment, keepMs: deployment.settings.BACKUP_KEEP_DAYS })),
    }),
  });

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

const containers = [responsesContainer];

/** Maintenance of credential requests, which an administrator starts (decisions G8, G13). */
export const connectorTasks: Readonly<Record<string, Task<ConnectorContext & InDeployment>>> = {
  checkPeers: task({
    input: z.strictObject({
      users: z.array(z.strictObject({ idp_id: z.string().optional(), user_id: z.string().min(1) })).default([]),
    }),
    run: async ({ users }, { deployment: _, ...context }: ConnectorContext & InDeployment) => {
      await context.ready();
      const findings = await checkPeers(
        users.map(({ idp_id: idpId = context.idps.defaultId, user_id: userId }) => ({ idpId, userId })),
        context,
      );
      return { findings, ok: findings.every(({ ok }) => ok) };
    },
  }),
  reseal: resealTask(["credentialrequests"]),
  backUp: backUpTask({ wing: "connector", tables: connectorBackedUp, containers }),
  restore: task({
    input: restoreInput,
    run: async ({ backup: id, replace }, { deployment, ...context }: ConnectorContext & InDeployment) => {
      const { tables, blobs } = deployment;
      const backup = await openBackup(blobs, "connector", id);
      const all = connectorTables(context.settingWords.CLOUD_TABLES_SHIPMENTS_TABLE_NAME ?? "");
      await makeEmpty({ tables: all, containers }, replace, deployment);
      const copied = await restoreBlobs(backup, containers, deployment);
      const restored = await restoreConnector(backup, tables, context);
      return { ...restored, blobs: copied };
    },
  }),
};
