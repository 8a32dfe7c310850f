import { mapConcurrently, partitions, removeRows, touchRow } from "../platform/azure/row-batches.ts";
import { parseRow, readOrLog } from "../platform/azure/row-columns.ts";
import type { Row, RowPage } from "../platform/azure/tables.ts";
import { transactionSize } from "../platform/azure/transaction.ts";
import { conflict, retryOnConflict, storedInstant } from "../platform/stored.ts";
import { hourOf } from "../platform/time.ts";
import { attributesIn } from "./attributes/attribute-rows.table.ts";
import {
  type Hint,
  hintedId,
  isOfAttribute,
  isTrueHint,
  noticeColumns,
  noticeQueue,
  readHint,
  removeHint,
} from "./hints.table.ts";
import { type AuthTables, type Expiring, expiryColumns, indexExpiry } from "./tables.table.ts";
import { finishDeletion } from "./users/remove-user.table.ts";
import { readUserRows, userIn } from "./users/user-rows.table.ts";

/**
 * Deletes expired rows, sorted by expiry, and what unfinished calls have left (A19). Stops at the signal; the next run
 * continues. Returns the number of rows that it deleted, and of notices of which nothing is left to do.
 */
export async function removeExpiredRows(tables: AuthTables, signal: AbortSignal | undefined) {
  const clean = (queue: Parameters<typeof removeExpired>[1]) =>
    cleanUpQueue(tables, queue, row => removeExpired(tables, queue, row), signal);
  return {
    sessions: await cleanUpSessions(tables, signal),
    throttles: await clean("throttles"),
    addresses: await clean("addresses"),
    spentOtps: await clean("spentotps"),
    notices: await cleanUpQueue(tables, noticeQueue, row => processNotice(tables, row), signal),
  };
}

/** Deletes the sessions of past hours. Their partitions are one range of keys, so that one query reads all of them. */
async function cleanUpSessions({ sessions, now }: AuthTables, signal: AbortSignal | undefined): Promise<number> {
  let removed = 0;
  if (signal?.aborted) return removed;
  const expired = sessions.scan({ beforePartition: hourOf(now()) }, { select: [] });
  for await (const rows of partitions(expired, transactionSize)) {
    await removeRows(sessions, rows);
    removed += rows.length;
    if (signal?.aborted) break;
  }
  return removed;
}

/** Removes what an unfinished call has left. */
async function processNotice(tables: AuthTables, row: Row): Promise<Processed> {
  const { about } = noticeColumns.fromRow(row);
  await ("table" in about ? removeFalseHint(tables, about) : finishDeletion(tables, about.id));
  return "removed";
}

/**
 * Removes the row of a hint, unless it is true. Changes the version of the row that decides, so that a writer who is
 * about to make the hint true gets a conflict (rule R1).
 */
const removeFalseHint = (tables: AuthTables, hint: Hint): Promise<void> =>
  retryOnConflict(async () => {
    const row = await readHint(tables, hint);
    if (row === undefined || hintedId(hint.table, row) !== hint.id) return;
    const rows = await readUserRows(tables, hint.id);
    const user = userIn(rows.user);
    if (user !== undefined && isTrueHint(hint, user.value, () => attributesIn(rows.attributes))) return;
    const deciding = isOfAttribute(hint) ? rows.attributes : rows.user;
    if (user !== undefined && deciding !== undefined && !(await touchRow(tables.users, deciding))) return conflict;
    return (await removeHint(tables, hint, row)) ? undefined : conflict;
  });

/**
 * Whether a row was removed, there is nothing more to do at its index row, or another writer changed it meanwhile: then
 * the next run looks again.
 */
type Processed = "removed" | "done" | "changed";

/**
 * Processes the rows of a queue whose hour has passed, and removes those that are done with. Returns the number of
 * `removed`.
 */
async function cleanUpQueue(
  { expiry, now, log }: AuthTables,
  queue: string,
  process: (row: Row) => Promise<Processed>,
  signal: AbortSignal | undefined,
): Promise<number> {
  const range = { partitionKey: queue, before: hourOf(now()) };
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
async function removeExpired(tables: AuthTables, queue: Expiring, indexRow: Row): Promise<Processed> {
  const pointed = expiryColumns.fromRow(indexRow);
  const row = await tables[queue].get(pointed.partition, pointed.row);
  if (row === undefined) return "done";
  const { partitionKey, rowKey, etag } = row;
  const ends = parseRow(queue, row, storedInstant, row.ends);
  if (ends <= tables.now()) return (await tables[queue].remove(partitionKey, rowKey, etag)) ? "removed" : "changed";
  await indexExpiry(tables, queue, { partitionKey, rowKey, ends });
  return "done";
}
