import type { Log } from "../../platform/log.ts";
import type { BackupScope } from "../../platform/maintenance/backup-files.ts";
import type { Backup } from "../../platform/maintenance/read-backup.ts";
import { forEachItem } from "../../platform/maintenance/restore.ts";
import { partitions } from "../../platform/tables/row-batches.ts";
import type { Entity } from "../../platform/tables/tables.ts";
import type { ClaimStore, EventStore, RequestStore, RestoredEvents } from "../deps.ts";
import { fromEventRows } from "../events/event-rows.table.ts";
import type { Claim } from "../model/idempotency.ts";
import type { RequestValues } from "../model/request.ts";
import { isTerminal } from "../model/states.ts";
import { restoreRequest } from "../recovery/restore-request.ts";
import { claimOf, claimsTable } from "./idempotency.table.ts";
import { keyPrefix, requestRow, requestsTable } from "./request-rows.table.ts";
import { responsesContainer } from "./responses.blob.ts";
import { fromKeyRow, fromRequestRow } from "./rows.table.ts";

/** The tables and containers in a backup of the connector. Due work, lists and shipment records follow from the requests. */
export const connectorBackedUp: BackupScope = {
  service: "connector",
  tables: [requestsTable, claimsTable],
  containers: [responsesContainer],
};

export interface ConnectorRestored {
  readonly requests: number;
  /** Requests that have not ended. Their peers are read back before any call is repeated. */
  readonly open: number;
}

/** A request of a backup. */
interface RestoredItem {
  readonly before: RequestValues;
  /** The request as it is restored. */
  readonly after: RequestValues;
  readonly events: RestoredEvents;
}

interface Work {
  request(item: RestoredItem): Promise<void>;
  claim(claim: Claim): Promise<void>;
}

/** Reads every request and every claim of a backup. Returns the number that cannot be read. */
async function forEachOfBackup(backup: Backup, work: Work, log: Log): Promise<number> {
  const requests = await forEachItem(partitions(backup.rows(requestsTable)), readRequest, work.request, log);
  const readClaim = (row: Entity) => claimOf({ ...row, etag: "" });
  return requests + (await forEachItem(backup.rows(claimsTable), readClaim, work.claim, log));
}

/** Returns a request with its security keys from the rows of one partition; undefined if there is no request. */
function readRequest(rows: readonly Entity[]): RestoredItem | undefined {
  const row = rows.find(({ rowKey }) => rowKey === requestRow);
  if (row === undefined) return undefined;
  const keyRows = rows.filter(({ rowKey }) => rowKey.startsWith(keyPrefix));
  const { recorded, deliveries } = fromEventRows(rows.map(each => ({ ...each, etag: "" })));
  const before = {
    request: fromRequestRow({ ...row, etag: "" }),
    keys: keyRows.map(key => fromKeyRow({ ...key, etag: "" })),
  };
  const values = new Map([...deliveries].map(([sink, { value }]) => [sink, value]));
  return { before, after: restoreRequest(before), events: { recorded, deliveries: values } };
}

const nothing = async () => {};

/** Reads the whole backup as `restoreConnector` does. Returns the number of items that cannot be read. */
export const verifyConnector = (backup: Backup, log: Log): Promise<number> =>
  forEachOfBackup(backup, { request: nothing, claim: nothing }, log);

interface RestoreDeps {
  readonly requests: RequestStore;
  readonly events: EventStore;
  readonly claims: ClaimStore;
  readonly log: Log;
}

/**
 * Writes the credential requests, their events and the Idempotency-Keys of a backup into empty tables, with the index
 * rows that follow from them.
 */
export async function restoreConnector(
  backup: Backup,
  { requests, events, claims, log }: RestoreDeps,
): Promise<ConnectorRestored> {
  const counts = { requests: 0, open: 0 };
  const request = async ({ before, after, events: ofRequest }: RestoredItem) => {
    // The events come first: the row of the request has their number.
    await requests.insert(await events.restore(before, after, ofRequest), after.keys);
    counts.requests++;
    if (!isTerminal(after.request.state)) counts.open++;
  };
  await forEachOfBackup(backup, { request, claim: async claim => void (await claims.insert(claim)) }, log);
  return counts;
}
