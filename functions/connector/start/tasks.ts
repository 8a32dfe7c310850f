import * as z from "zod";
import { responsesContainer } from "../../../lib/azure/connector/responses.ts";
import { connectorBackedUp, restoreConnector, verifyConnector } from "../../../lib/azure/connector/restore.ts";
import { connectorTables } from "../../../lib/azure/connector/store.ts";
import { openBackup } from "../../../lib/azure/maintenance/backup-files.ts";
import { restore, restoreBlobs } from "../../../lib/azure/maintenance/restore.ts";
import { eraseRecipient, type RecipientName } from "../../../lib/connector/cancel/erase-recipient.ts";
import { checkPeers } from "../../../lib/connector/operate/check-peers.ts";
import { type Task, task } from "../../../lib/http/task.ts";
import { backUpTask, type InDeployment, resealTask, restoreInput } from "../../maintenance.ts";
import type { ConnectorContext } from "../context.ts";

const nameOfPerson = z.string().trim().min(1).max(255).optional();

/** One person, by one of the names of a create's fields. */
const eraseInput = z
  .strictObject({ email: nameOfPerson, external_id: nameOfPerson, user_id: nameOfPerson })
  .refine(names => Object.values(names).filter(name => name !== undefined).length === 1, {
    error: "must have exactly one of email, external_id and user_id",
  });

const whoOf = ({ email, external_id: externalId, user_id: userId }: z.output<typeof eraseInput>): RecipientName => {
  if (email !== undefined) return { by: "email", name: email };
  return externalId === undefined ? { by: "userId", name: userId ?? "" } : { by: "externalId", name: externalId };
};

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
  erase: task({
    input: eraseInput,
    run: async (input, { deployment: _, ...context }: ConnectorContext & InDeployment) => {
      await context.ready();
      const { erased, left } = await eraseRecipient(whoOf(input), context);
      const told = left.map(({ requestId, reason }) => ({ credential_request_id: requestId, reason }));
      return { erased, left: told };
    },
  }),
  reseal: resealTask(["credentialrequests"]),
  backUp: backUpTask(connectorBackedUp),
  restore: task({
    input: restoreInput,
    run: async ({ backup: id, ...how }, { deployment, ...context }: ConnectorContext & InDeployment) => {
      const { blobs } = deployment;
      const backup = await openBackup(blobs, connectorBackedUp, id);
      const all = connectorTables(context.settingTexts.CLOUD_TABLES_SHIPMENTS_TABLE_NAME ?? "");
      const steps = {
        verify: () => verifyConnector(backup, context.log),
        write: async () => {
          const copied = await restoreBlobs(backup, responsesContainer, deployment);
          return { ...(await restoreConnector(backup, context)), blobs: copied };
        },
      };
      return { ...(await restore(backup, { tables: all, containers: [responsesContainer] }, how, steps, deployment)) };
    },
  }),
};
