import * as z from "zod";
import { mapConcurrently, removeRows } from "../platform/azure/row-batches.ts";
import { parseRow, readOrLog, rowColumns } from "../platform/azure/row-columns.ts";
import type { Entity, Row, RowPage } from "../platform/azure/tables.ts";
import { storedInstant } from "../platform/stored.ts";
import type { Instant } from "../platform/time.ts";
import { type AuthTables, schemaVersion } from "./tables.table.ts";

/** Tables whose rows expire, each with a queue. Sessions need none: their partition keys begin with the hour. */
type Expiring = "throttles" | "addresses" | "spentOtps";

/** A row whose column `ends` says when it may be deleted. */
type ExpiringRow = Entity & { readonly ends: Instant };

const expiryColumns = rowColumns({ kind: "expiry", version: schemaVersion }, () =>
  z.object({ partition: z.string(), row: z.string() }),
);

/**
 * Writes the row of the expiry index that points to an expiring row. Clean-up checks that row after the hour has
 * passed. The key contains the hour, not the exact time, so that concurrent attempts share one index row.
 */
const indexExpiry = ({ expiry }: AuthTables, queue: Expiring, row: ExpiringRow): Promise<string> =>
  expiry.upsert({
    partitionKey: queue,
    rowKey: `${row.ends.slice(0, 13)}_${row.partitionKey}_${row.rowKey}`,
    ...expiryColumns.toColumns({ partition: row.partitionKey, row: row.rowKey }),
  });

/**
 * Replaces a row by version, or inserts it with its index row. A replaced row has an index row already. Returns the
 * ETag; undefined after a conflict.
 */
export async function saveExpiring(
  tables: AuthTables,
  queue: Expiring,
  row: ExpiringRow,
  version: string | undefined,
): Promise<string | undefined> {
  if (version !== undefined) return tables[queue].replace(row, version);
  const [etag] = await Promise.all([tables[queue].insert(row), indexExpiry(tables, queue, row)]);
  return etag;
}

/**
 * Whether a row was removed, there is nothing more to do at its index row, or another writer changed it meanwhile: then
 * the next run looks again.
 */
type Processed = "removed" | "done" | "changed";

/**
 * Processes the rows of a queue whose hour has passed, and removes those that are done with. Returns the number of
 * `removed`.
 */
export async function cleanUpQueue(
  { expiry, now, log }: AuthTables,
  queue: string,
  process: (row: Row) => Promise<Processed>,
  signal: AbortSignal | undefined,
): Promise<number> {
  const range = { partitionKey: queue, before: now().slice(0, 13) };
  let removed = 0;
  let continuation: string | undefined;
  do {
    if (signal?.aborted) break;
    const page: RowPage = await expiry.queryPage(range, { top: 1000, continuation });
    const results = await mapConcurrently(page.rows, row => readOrLog(log, () => process(row)));
    removed += results.filter(result => result === "removed").length;
    const processed = page.rows.filter((_, index) => results[index] === "removed" || results[index] === "done");
    await removeRows(expiry, processed);
    ({ continuation } = page);
  } while (continuation !== undefined);
  return removed;
}

/** Deletes the row to which an index row points, if it has expired. A row that expires later gets a later index row. */
export async function removeExpired(tables: AuthTables, queue: Expiring, indexRow: Row): Promise<Processed> {
  const pointed = expiryColumns.fromRow(indexRow);
  const row = await tables[queue].get(pointed.partition, pointed.row);
  if (row === undefined) return "done";
  const { partitionKey, rowKey, etag } = row;
  const ends = parseRow(queue, row, storedInstant, row.ends);
  if (ends <= tables.now()) return (await tables[queue].remove(partitionKey, rowKey, etag)) ? "removed" : "changed";
  await indexExpiry(tables, queue, { partitionKey, rowKey, ends });
  return "done";
}
