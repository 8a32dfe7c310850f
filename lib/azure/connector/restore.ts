import type { ClaimStore, RequestStore } from "../../connector/deps.ts";
import type { Claim } from "../../connector/model/idempotency.ts";
import { listKeyOf, peopleLists } from "../../connector/model/people-lists.ts";
import { shipmentStatusOf } from "../../connector/model/shipment-status.ts";
import { isTerminal } from "../../connector/model/states.ts";
import { type RestoredRequest, restoreRequest } from "../../connector/recovery/reopen-restored.ts";
import type { Log } from "../../log.ts";
import type { Backup, BackupScope } from "../maintenance/backup-files.ts";
import { forEachItem } from "../maintenance/restore.ts";
import { partitions, upsertAll } from "../maintenance/rows.ts";
import type { Entity, Tables } from "../tables/tables.ts";
import { claimOf, claimsTable } from "./idempotency.ts";
import { responsesContainer } from "./responses.ts";
import { fromKeyRow, fromRequestRow, toKeyColumns, toRequestColumns } from "./rows.ts";
import { keyPrefix, requestRow } from "./store.ts";

const requestsTable = "credentialrequests";

/** What a backup of the connector copies: due work, lists and shipment ids are told from the requests. */
export const connectorBackedUp: BackupScope = {
  service: "connector",
  tables: [requestsTable, claimsTable],
  containers: [responsesContainer],
};

export interface ConnectorRestored {
  readonly requests: number;
  /** Those that have not ended: read back before any call. */
  readonly open: number;
}

interface Work {
  request(item: RestoredRequest): Promise<void>;
  claim(claim: Claim): Promise<void>;
}

/** Reads every request and every claim of a backup. Returns how many cannot be read. */
async function forEachOfBackup(backup: Backup, work: Work, log: Log): Promise<number> {
  const requests = await forEachItem(partitions(backup.rows(requestsTable)), readRequest, work.request, log);
  const readClaim = (row: Entity) => claimOf({ ...row, etag: "" });
  return requests + (await forEachItem(backup.rows(claimsTable), readClaim, work.claim, log));
}

/** A request with its keys: one item, as a key alone says nothing. Undefined for keys whose request is gone. */
function readRequest(rows: readonly Entity[]): RestoredRequest | undefined {
  const row = rows.find(({ rowKey }) => rowKey === requestRow);
  if (row === undefined) return undefined;
  const keyRows = rows.filter(({ rowKey }) => rowKey.startsWith(keyPrefix));
  return restoreRequest({
    request: fromRequestRow({ ...row, etag: "" }),
    keys: keyRows.map(key => fromKeyRow({ ...key, etag: "" })),
  });
}

const nothing = async () => {};

/** Reads the whole backup as `restoreConnector` does. Returns how many items cannot be read. */
export const verifyConnector = (backup: Backup, log: Log): Promise<number> =>
  forEachOfBackup(backup, { request: nothing, claim: nothing }, log);

/** Writes the credential requests and Idempotency-Keys of a backup into empty tables; due work and shipment ids are told from them. */
export async function restoreConnector(
  backup: Backup,
  tables: Tables,
  { requests, claims, log }: { readonly requests: RequestStore; readonly claims: ClaimStore; readonly log: Log },
): Promise<ConnectorRestored> {
  const table = tables.table(requestsTable);
  const counts = { requests: 0, open: 0 };
  const request = async ({ request, keys }: RestoredRequest) => {
    const { id, delivery } = request;
    // What is due is written before the row that says so (decision C15), and a shipment id before its request.
    await Promise.all([
      request.due && requests.schedule(request.due, id),
      ...keys.map(key => key.due && requests.schedule(key.due, id, key.id)),
      delivery?.shipmentId && requests.linkShipment(delivery.shipmentId, id, shipmentStatusOf(request, keys)),
      requests.enter(listKeyOf(request), [{ state: request.state }, ...peopleLists(request, keys)]),
    ]);
    await upsertAll(table, [
      { partitionKey: id, rowKey: requestRow, ...toRequestColumns(request) },
      ...keys.map(key => ({ partitionKey: id, rowKey: keyPrefix + key.id, ...toKeyColumns(key) })),
    ]);
    counts.requests++;
    if (!isTerminal(request.state)) counts.open++;
  };
  await forEachOfBackup(backup, { request, claim: async claim => void (await claims.insert(claim)) }, log);
  return counts;
}
