import type { Log } from "../../platform/log.ts";
import type { Backup, BackupScope } from "../../platform/maintenance/read-backup.ts";
import { forEachItem } from "../../platform/maintenance/restore.ts";
import { partitions } from "../../platform/tables/row-batches.ts";
import type { Entity } from "../../platform/tables/tables.ts";
import type { Instant } from "../../platform/time.ts";
import { responsesContainer } from "../collect/responses.blob.ts";
import { claimOf, type claimStore, claimsTable } from "../create/claims.table.ts";
import type { Credential } from "../model/credential.ts";
import type { Claim } from "../model/idempotency.ts";
import type { RequestValues } from "../model/loaded-request.ts";
import { preRegistrationApi } from "../model/peer-names.ts";
import type { CredentialRequest } from "../model/request.ts";
import { firstAttempt } from "../model/retry.ts";
import { queueOf, type SecurityKey } from "../model/security-key.ts";
import { isTerminal, startRequest } from "../model/states.ts";
import type { RequestEvents } from "./request-events.table.ts";
import { requestIn, requestsTable } from "./request-rows.table.ts";
import type { RequestStore } from "./requests.table.ts";

/** The tables and containers in a backup. Due work, lists and shipment records follow from them. */
export const connectorBackedUp: BackupScope = {
  service: "connector",
  tables: [requestsTable, claimsTable],
  containers: [responsesContainer],
};

interface RestoreDeps {
  readonly events?: RequestEvents;
  readonly log: Log;
}

interface Work {
  /**
   * @param before the request of the backup
   * @param after the request as it is restored
   * @param writeEvents writes its events, and returns the request with their number
   */
  request(before: RequestValues, after: RequestValues, writeEvents: WriteEvents): Promise<void>;
  claim(claim: Claim): Promise<void>;
}

type WriteEvents = ReturnType<RequestEvents["readBackup"]>;

/** Reads every request and every claim of a backup. Returns the number that cannot be read. */
async function forEachOfBackup(backup: Backup, work: Work, { events, log }: RestoreDeps): Promise<number> {
  const withoutEvents: WriteEvents = async (_, { request }) => request;
  const read = (entities: readonly Entity[]) => {
    const rows = entities.map(entity => ({ ...entity, etag: "" }));
    const loaded = requestIn(rows);
    if (loaded === undefined) return undefined;
    return [loaded, restoreRequest(loaded), events?.readBackup(rows) ?? withoutEvents] as const;
  };
  const requests = partitions(backup.rows(requestsTable));
  const readClaim = (row: Entity) => claimOf({ ...row, etag: "" });
  return (
    (await forEachItem(requests, read, item => work.request(...item), log)) +
    (await forEachItem(backup.rows(claimsTable), readClaim, work.claim, log))
  );
}

const nothing = async () => {};

/** Reads the whole backup as `restoreConnector` does. Returns the number of items that cannot be read. */
export const verifyConnector = (backup: Backup, deps: RestoreDeps): Promise<number> =>
  forEachOfBackup(backup, { request: nothing, claim: nothing }, deps);

/**
 * Writes the credential requests, their events and the Idempotency-Keys of a backup into empty tables, with the index
 * rows that follow from them.
 * @returns the number of requests, and of those that have not ended: their peers are read back before any call is
 * repeated
 */
export async function restoreConnector(
  backup: Backup,
  {
    requests,
    claims,
    ...deps
  }: RestoreDeps & { readonly requests: RequestStore; readonly claims: ReturnType<typeof claimStore> },
): Promise<{ readonly requests: number; readonly open: number }> {
  const counts = { requests: 0, open: 0 };
  const request: Work["request"] = async (before, after, writeEvents) => {
    // The events come first: the row of the request has their number.
    await requests.insert(await writeEvents(before, after), after.keys);
    counts.requests++;
    if (!isTerminal(after.request.state)) counts.open++;
  };
  await forEachOfBackup(backup, { request, claim: async claim => void (await claims.insert(claim)) }, deps);
  return counts;
}

/**
 * Prepares a request from a backup for further work. What was done after the backup is not known, so each open part is
 * recorded as a call without an answer: it is read back at its peer before the call is repeated (C6).
 */
export function restoreRequest({ request, keys }: RequestValues): RequestValues {
  const { lease, ...unleased } = withDeleteIntent(request);
  const attempted = keys.map(key => restoreSecurityKey(key, request.createdAt));
  return mayBeEnrolled(request, keys)
    ? startEnrolled(unleased, attempted)
    : { request: withOrderIntent(unleased), keys: attempted };
}

/** Whether authenticators may have been sent to the pre-registration API: their response keys are stored. */
const mayBeEnrolled = ({ state, shipment }: CredentialRequest, keys: readonly SecurityKey[]): boolean =>
  state === "received" &&
  shipment === undefined &&
  keys.every(({ credentials }) => credentials.every(({ responseKey }) => responseKey !== undefined));

/** Starts the request: a compensation would lose keys that were enrolled after the backup. */
function startEnrolled({ due, ...request }: CredentialRequest, keys: readonly SecurityKey[]): RequestValues {
  const at = request.createdAt;
  return {
    request: { ...request, state: startRequest(request.state) },
    keys: keys.map(key => ({
      ...key,
      enrollment: firstAttempt(at),
      due: { queue: queueOf(key), at, peer: preRegistrationApi },
    })),
  };
}

/** Adds an order intent to a request with a shipment. Without one, the request would be compensated as never sent. */
const withOrderIntent = (request: CredentialRequest): CredentialRequest =>
  request.state === "received" && request.shipment !== undefined
    ? { ...request, delivery: { sentAt: request.createdAt, ...request.delivery } }
    : request;

/** Adds the intent to delete the shipment to a cancel: it may have been deleted after the backup. */
const withDeleteIntent = (request: CredentialRequest): CredentialRequest =>
  request.cancelling === undefined
    ? request
    : { ...request, cancelling: { deleteSentAt: request.createdAt, ...request.cancelling } };

function restoreSecurityKey({ lease, ...key }: SecurityKey, since: Instant): SecurityKey {
  const withAttempt = (credential: Credential): Credential =>
    isTerminal(credential.state) ? credential : { ...credential, triedAt: credential.triedAt ?? since };
  const isOpen = key.mail.state === "waiting" || key.mail.state === "due";
  // The number identifies the send that may have been made. Without an earlier send, that is the first one.
  const mail = isOpen
    ? { ...key.mail, number: Math.max(1, key.mail.number), triedAt: key.mail.triedAt ?? since }
    : key.mail;
  return { ...key, mail, credentials: key.credentials.map(withAttempt) };
}
