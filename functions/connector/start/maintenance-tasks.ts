import * as z from "zod";
import { email, nonEmptyLine, optional, userId } from "../../../lib/connector/api/field-rules.ts";
import { eraseRecipient, type RecipientName } from "../../../lib/connector/cancel/erase-recipient.ts";
import { responsesContainer } from "../../../lib/connector/collect/responses.blob.ts";
import { noSuchSink } from "../../../lib/connector/events/resend-event.ts";
import { checkPeers } from "../../../lib/connector/jobs/check-peers.ts";
import { connectorTables } from "../../../lib/connector/storage/requests.table.ts";
import { connectorBackedUp, restoreConnector } from "../../../lib/connector/storage/restore.table.ts";
import { type Task, task } from "../../../lib/platform/http/task.ts";
import { findBackup } from "../../../lib/platform/maintenance/read-backup.ts";
import { restore, restoreBlobs } from "../../../lib/platform/maintenance/restore.ts";
import { backUpTask, type InDeployment, resealTask, restoreInput } from "../../maintenance.ts";
import type { ConnectorContext } from "../context.ts";

/** One person, named as in one of the fields of the create, whose schemas remove the same characters. */
const eraseInput = z.lazy(() =>
  z
    .strictObject({
      email: optional(email()),
      external_id: optional(nonEmptyLine()),
      /** A user of a credential. */
      user_id: optional(userId()),
      dry_run: z.boolean().default(false),
      /** Whether to delete requests whose credentials stay active at their IdPs, where nothing here can revoke them. */
      leave_active_credentials: z.boolean().default(false),
    })
    .refine(({ email, external_id, user_id }) => [email, external_id, user_id].filter(Boolean).length === 1, {
      error: "must have exactly one of email, external_id and user_id",
    }),
);

const recipientOf = ({ email, external_id, user_id = "" }: z.output<typeof eraseInput>): RecipientName => {
  if (email !== undefined) return { by: "email", name: email };
  return external_id === undefined ? { by: "userId", name: user_id } : { by: "externalId", name: external_id };
};

/** Maintenance of credential requests, which an administrator starts (decisions G8, G13). */
export const connectorTasks: Readonly<Record<string, Task<ConnectorContext & InDeployment>>> = {
  /** Test users whose credentials the identity providers are asked for, at the default IdP if none is named. */
  checkPeers: task({
    input: z.lazy(() =>
      z.strictObject({
        users: z
          .array(
            z.strictObject({
              idp_id: z.string().optional(),
              user_id: z.string().min(1),
            }),
          )
          .default([]),
      }),
    ),
    run: async ({ users }, context: ConnectorContext & InDeployment) => {
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
    run: async (input, context: ConnectorContext & InDeployment) => {
      await context.ready();
      const { dry_run: dryRun, leave_active_credentials: leaveActive } = input;
      const { erased, requests, left } = await eraseRecipient(recipientOf(input), context, { dryRun, leaveActive });
      return {
        dry_run: dryRun,
        matched: erased + left.length,
        erased,
        requests: requests.map(({ requestId, state, otherUsers }) => ({
          credential_request_id: requestId,
          state,
          other_users: otherUsers,
        })),
        left: left.map(({ requestId, reason }) => ({ credential_request_id: requestId, reason })),
      };
    },
  }),
  /** Sends events again to a sink that answered 410, and ends a wait that it requested by `Retry-After`. */
  resumeEvents: task({
    input: z.lazy(() =>
      z.strictObject({
        /** Position of the sink in `EVENT_SINK_URLS`. */
        sink: z.int().min(1).max(99),
      }),
    ),
    run: async ({ sink }, { events, sinks }: ConnectorContext & InDeployment) => {
      if (!sinks.some(({ number }) => number === sink)) throw noSuchSink();
      const { stopped } = await events.sinkState(sink);
      await events.changeSinkState(sink, () => ({}));
      return stopped === undefined ? {} : { stopped_at: stopped.at };
    },
  }),
  reseal: resealTask(["credentialrequests"]),
  backUp: backUpTask(connectorBackedUp),
  restore: task({
    input: z.lazy(restoreInput),
    run: async ({ backup: id, ...how }, { deployment, ...context }: ConnectorContext & InDeployment) => {
      const backup = await findBackup(deployment, connectorBackedUp, id);
      const all = connectorTables(context.settingTexts.CLOUD_TABLES_SHIPMENTS_TABLE_NAME ?? "");
      const steps = {
        verify: async () => (await restoreConnector(backup, context)).unreadable,
        write: async () => {
          const blobs = await restoreBlobs(backup, responsesContainer, deployment);
          const { requests, open } = await restoreConnector(backup, context, context);
          return { requests, open, blobs };
        },
      };
      return { ...(await restore(backup, { tables: all, containers: [responsesContainer] }, how, steps, deployment)) };
    },
  }),
};
