import { partitions } from "../../platform/azure/row-batches.ts";
import type { Entity } from "../../platform/azure/tables.ts";
import type { Log } from "../../platform/log.ts";
import type { Backup, BackupScope } from "../../platform/maintenance/read-backup.ts";
import { forEachItem } from "../../platform/maintenance/restore.ts";
import type { Instant } from "../../platform/time.ts";
import { responsesContainer } from "../collect/responses.blob.ts";
import { claimOf, type claimStore, claimsTable } from "../create/claims.table.ts";
import type { Credential } from "../model/credential.ts";
import type { Claim } from "../model/idempotency.ts";
import type { RequestValues } from "../model/loaded-request.ts";
import { preRegistrationApi } from "../model/peer-names.ts";
import { type CredentialRequest, isAborted } from "../model/request.ts";
import { firstAttempt } from "../model/retry.ts";
import { queueOf, type SecurityKey } from "../model/security-key.ts";
import { isTerminal, startRequest } from "../model/states.ts";
import type { RequestEvents } from "./request-rows.table.ts";
import { requestIn, requestsTable } from "./request-rows.table.ts";
import type { RequestStore } from "./requests.table.ts";

/** The tables and containers in a backup. Due work, lists and shipment records follow from them. */
export const connectorBackedUp: BackupScope = {
  service: "connector",
  tables: [requestsTable, claimsTable],
  containers: [responsesContainer],
};

/** The empty stores that a restore writes. */
interface RestoreTarget {
  readonly requests: RequestStore;
  readonly claims: ReturnType<typeof claimStore>;
}

/**
 * Reads the credential requests, their events and the Idempotency-Keys of a backup, and writes them with the index rows
 * that follow from them.
 * @param target undefined if nothing is written
 * @returns the numbers of items that cannot be read, of requests, and of requests that have not ended: their peers are
 * read back before any call is repeated
 */
export async function restoreConnector(
  backup: Backup,
  { events, log }: { readonly events?: RequestEvents; readonly log: Log },
  target?: RestoreTarget,
): Promise<{ readonly unreadable: number; readonly requests: number; readonly open: number }> {
  let requests = 0;
  let open = 0;
  const readRequest = (entities: readonly Entity[]) => {
    const rows = entities.map(entity => ({ ...entity, etag: "" }));
    const before = requestIn(rows);
    return before && { before, after: restoreRequest(before), writeEvents: events?.readBackup(rows) };
  };
  const writeRequest = async ({ before, after, writeEvents }: NonNullable<ReturnType<typeof readRequest>>) => {
    requests++;
    if (!isTerminal(after.request.state)) open++;
    // The events come first: the row of the request has their number.
    if (target) await target.requests.insert((await writeEvents?.(before, after)) ?? after.request, after.keys);
  };
  const readClaim = (row: Entity) => claimOf({ ...row, etag: "" });
  const writeClaim = async (claim: Claim) => void (await target?.claims.insert(claim));
  const unreadable =
    (await forEachItem(partitions(backup.rows(requestsTable)), readRequest, writeRequest, log)) +
    (await forEachItem(backup.rows(claimsTable), readClaim, writeClaim, log));
  return { unreadable, requests, open };
}

/**
 * Prepares a request from a backup for further work. What was done after the backup is not known, so each open part is
 * recorded as a call without an answer: it is read back at its peer before the call is repeated (C6).
 */
export function restoreRequest({ request, keys }: RequestValues): RequestValues {
  const { lease, ...unleased } = withDeleteIntent(request);
  // Nothing was ordered, and nothing is polled before it ends, so nothing of it began after the backup.
  const isEnding = isAborted(request) || (request.state === "received" && request.cancelling !== undefined);
  if (isEnding) return { request: unleased, keys: keys.map(({ lease: _, ...key }) => key) };
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
