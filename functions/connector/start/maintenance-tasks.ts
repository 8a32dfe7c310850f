import * as z from "zod";
import { eraseRecipient, type RecipientName } from "../../../lib/connector/cancel/erase-recipient.ts";
import { responsesContainer } from "../../../lib/connector/collect/responses.blob.ts";
import { checkPeers } from "../../../lib/connector/jobs/check-peers.ts";
import { requestStates } from "../../../lib/connector/model/states.ts";
import { connectorTables } from "../../../lib/connector/storage/requests.table.ts";
import { connectorBackedUp, restoreConnector, verifyConnector } from "../../../lib/connector/storage/restore.table.ts";
import { type Task, task } from "../../../lib/platform/http/task.ts";
import { findBackup } from "../../../lib/platform/maintenance/read-backup.ts";
import { restore, restoreBlobs } from "../../../lib/platform/maintenance/restore.ts";
import { backUpTask, count, type InDeployment, resealTask, restoreInput } from "../../maintenance.ts";
import type { ConnectorContext } from "../context.ts";

const nameOfPerson = (description: string) => z.string().trim().min(1).max(255).optional().describe(description);

/** One person, named as in one of the fields of the create. */
const eraseInput = z.lazy(() =>
  z
    .strictObject({
      email: nameOfPerson("The recipient's email address."),
      external_id: nameOfPerson("The recipient's own identifier."),
      user_id: nameOfPerson("A user of a credential."),
      dry_run: z.boolean().default(false).describe("If true, reports what would be deleted, and changes nothing."),
    })
    .refine(({ dry_run: _, ...names }) => Object.values(names).filter(name => name !== undefined).length === 1, {
      error: "must have exactly one of email, external_id and user_id",
    }),
);

const recipientOf = ({
  email,
  external_id: externalId,
  user_id: userId,
}: z.output<typeof eraseInput>): RecipientName => {
  if (email !== undefined) return { by: "email", name: email };
  return externalId === undefined ? { by: "userId", name: userId ?? "" } : { by: "externalId", name: externalId };
};

/** Maintenance of credential requests, which an administrator starts (decisions G8, G13). */
export const connectorTasks: Readonly<Record<string, Task<ConnectorContext & InDeployment>>> = {
  checkPeers: task({
    summary: "Check every external system",
    description:
      "Calls the delivery service, the enrollment services, the identity providers and the mail service without an " +
      "order, and reports what each answered. `users` are test users whose credentials the identity providers are " +
      "asked for.",
    input: z.lazy(() =>
      z.strictObject({
        users: z
          .array(
            z.strictObject({
              idp_id: z.string().optional().describe("The IdP. By default that of the deployment."),
              user_id: z.string().min(1).describe("A user at the IdP."),
            }),
          )
          .default([])
          .describe("Test users."),
      }),
    ),
    report: z.lazy(() =>
      z
        .object({
          findings: z
            .array(
              z.object({
                peer: z.string().describe("The external system."),
                check: z.string().describe("What was tried."),
                ok: z.boolean().describe("Whether it worked."),
                finding: z.string().describe("What the system answered, or what is wrong."),
              }),
            )
            .describe("One entry for each check."),
          ok: z.boolean().describe("Whether every check worked."),
        })
        .meta({ id: "PeerReport" }),
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
    summary: "Erase a person",
    description:
      "Deletes the requests of one person with their rows and blobs. Name the person by exactly one of `email`, " +
      "`external_id` and `user_id`, as the create had it. A request is deleted as a whole, with the other people in it: " +
      "their security keys are cancelled if they are not produced, and their data is deleted. Call it with `dry_run` " +
      "first: the report says which requests have users of another name. Of a request that the clean-up has archived, only " +
      "the users are known: it is found by `user_id`. A request that cannot be deleted yet is left " +
      "and reported with the reason.",
    input: eraseInput,
    report: z.lazy(() =>
      z
        .object({
          dry_run: z
            .boolean()
            .describe("If true, nothing was changed: `erased` and `requests` are what would be deleted."),
          erased: count("Requests that were deleted, or would be."),
          requests: z
            .array(
              z.object({
                credential_request_id: z.string().describe("The id of the request."),
                state: z.enum(requestStates).describe("Its state before. An open one is cancelled first."),
                other_users: count("Users of its credentials with another name. They may be other people."),
              }),
            )
            .describe("The requests that were deleted, or would be."),
          left: z
            .array(
              z.object({
                credential_request_id: z.string().describe("A request that was left."),
                reason: z.string().describe("Why it was left."),
              }),
            )
            .describe("Requests that could not be deleted."),
        })
        .meta({ id: "EraseReport" }),
    ),
    run: async (input, context: ConnectorContext & InDeployment) => {
      await context.ready();
      const { erased, requests, left } = await eraseRecipient(recipientOf(input), context, { dryRun: input.dry_run });
      return {
        dry_run: input.dry_run,
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
  resumeEvents: task({
    summary: "Resume an event sink",
    description:
      "Sends events again to a sink that answered 410 (Gone), starting with the first one that was not delivered. " +
      "Also ends a wait that the sink requested by `Retry-After`. The timer sends the events.",
    input: z.lazy(() =>
      z.strictObject({
        sink: z.int().min(1).max(99).describe("Position of the sink in `EVENT_SINK_URLS`, from 1."),
      }),
    ),
    report: z.lazy(() =>
      z
        .object({
          stopped_at: z.iso.datetime().optional().describe("When the sink answered 410. Absent if it was not stopped."),
        })
        .meta({ id: "ResumedSinkReport" }),
    ),
    run: async ({ sink }, { events }: ConnectorContext & InDeployment) => {
      const { stopped } = await events.sinkState(sink);
      await events.changeSinkState(sink, () => ({}));
      return stopped === undefined ? {} : { stopped_at: stopped.at };
    },
  }),
  reseal: resealTask(["credentialrequests"]),
  backUp: backUpTask(connectorBackedUp),
  restore: task({
    summary: "Restore requests from a backup",
    description:
      "Restores requests, shipments and key responses. The tables must be empty unless `replace` is true. Open " +
      "requests are compared with the external systems before they continue. See docs/operate.md before you use it.",
    input: z.lazy(restoreInput),
    report: z.lazy(() =>
      z
        .object({
          requests: count("Requests that were restored."),
          open: count("Of those, requests that have not ended."),
          blobs: count("Key responses that were restored."),
          skipped: count("Requests that were skipped."),
        })
        .meta({ id: "ConnectorRestoreReport" }),
    ),
    run: async ({ backup: id, ...how }, { deployment, ...context }: ConnectorContext & InDeployment) => {
      const backup = await findBackup(deployment, connectorBackedUp, id);
      const all = connectorTables(context.settingTexts.CLOUD_TABLES_SHIPMENTS_TABLE_NAME ?? "");
      const steps = {
        verify: () => verifyConnector(backup, context),
        write: async () => {
          const copied = await restoreBlobs(backup, responsesContainer, deployment);
          return { ...(await restoreConnector(backup, context)), blobs: copied };
        },
      };
      return { ...(await restore(backup, { tables: all, containers: [responsesContainer] }, how, steps, deployment)) };
    },
  }),
};
