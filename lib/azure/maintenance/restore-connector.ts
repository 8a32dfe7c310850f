import type { ClaimStore, RequestStore } from "../../connector/ports.ts";
import { peopleLists, placeOf } from "../../connector/request-lists.ts";
import { restored } from "../../connector/restored.ts";
import { isTerminal } from "../../connector/states.ts";
import { claimOf, claimsTable } from "../connector-idempotency.ts";
import { fromKeyRow, fromRequestRow, toKeyColumns, toRequestColumns } from "../connector-rows.ts";
import { keyPrefix, requestRow } from "../connector-tables.ts";
import type { Tables } from "../tables.ts";
import type { Backup } from "./backup-files.ts";
import { forEachOf, partitions, upsertAll } from "./rows.ts";

const requestsTable = "credentialrequests";

/** What a backup of the connector copies: due work, lists and shipment ids are told from the requests. */
export const connectorBackedUp: readonly string[] = [requestsTable, claimsTable];

export interface ConnectorRestored {
  readonly requests: number;
  /** Those that are not over: read back before any call. */
  readonly open: number;
}

/** Writes the credential requests and Idempotency-Keys of a backup into empty tables; due work and shipment ids are told from them. */
export async function restoreConnector(
  backup: Backup,
  tables: Tables,
  { requests, claims }: { readonly requests: RequestStore; readonly claims: ClaimStore },
): Promise<ConnectorRestored> {
  const table = tables.table(requestsTable);
  const counts = { requests: 0, open: 0 };
  await forEachOf(partitions(backup.rows(requestsTable)), async rows => {
    const row = rows.find(({ rowKey }) => rowKey === requestRow);
    if (row === undefined) return;
    const keyRows = rows.filter(({ rowKey }) => rowKey.startsWith(keyPrefix));
    const { request, keys } = restored({
      request: fromRequestRow({ ...row, etag: "" }),
      keys: keyRows.map(key => fromKeyRow({ ...key, etag: "" })),
    });
    const { id, delivery } = request;
    // What is due is written before the row that says so (decision C15), and a shipment id before its request.
    await Promise.all([
      request.due && requests.schedule(request.due, id),
      ...keys.map(key => key.due && requests.schedule(key.due, id, key.id)),
      delivery?.shipmentId && requests.claimShipment(delivery.shipmentId, id),
      requests.enter(placeOf(request), [{ state: request.state }, ...peopleLists(request, keys)]),
    ]);
    await upsertAll(table, [
      { partitionKey: id, rowKey: requestRow, ...toRequestColumns(request) },
      ...keys.map(key => ({ partitionKey: id, rowKey: keyPrefix + key.id, ...toKeyColumns(key) })),
    ]);
    counts.requests++;
    if (!isTerminal(request.state)) counts.open++;
  });
  await forEachOf(backup.rows(claimsTable), async row => {
    const claim = claimOf({ ...row, etag: "" });
    if (claim !== undefined) await claims.insert(claim);
  });
  return counts;
}
