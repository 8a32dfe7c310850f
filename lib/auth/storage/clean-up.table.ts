import { conflict, retryOnConflict } from "../../platform/stored.ts";
import { partitions, removeRows, touchRow } from "../../platform/tables/row-batches.ts";
import type { Row } from "../../platform/tables/tables.ts";
import { transactionSize } from "../../platform/tables/transaction.ts";
import { attributesIn } from "../attributes/attribute-rows.table.ts";
import { removeExpiredCode } from "../otpkeys/otpkeys.table.ts";
import { sessionHour } from "../sessions/session.ts";
import { finishDeletion } from "../users/remove-user.table.ts";
import { readUserRows, userIn } from "../users/user-rows.table.ts";
import { cleanUpQueue, removeExpired } from "./expiry.table.ts";
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
import type { AuthTables } from "./tables.table.ts";

/** The number of rows that a clean-up deleted. */
interface CleanedUp {
  readonly sessions: number;
  readonly throttles: number;
  readonly addresses: number;
  readonly spentOtps: number;
  readonly temporaryCodes: number;
  /** Notices that were processed: what unfinished calls have left is removed. */
  readonly notices: number;
}

/**
 * Deletes expired rows, sorted by expiry, and what unfinished calls have left (A19). Stops at the signal; the next run
 * continues.
 */
export async function removeExpiredRows(tables: AuthTables, signal: AbortSignal | undefined): Promise<CleanedUp> {
  const sessions = await cleanUpSessions(tables, signal);
  const remove = (queue: Parameters<typeof removeExpired>[1]) =>
    cleanUpQueue(tables, queue, row => removeExpired(tables, queue, row), signal);
  const throttles = await remove("throttle");
  const addresses = await remove("address");
  const spentOtps = await remove("spentotp");
  const codes = await cleanUpQueue(tables, "temporarycode", row => removeExpiredCode(tables, row), signal);
  const notices = await cleanUpQueue(tables, noticeQueue, row => processNotice(tables, row), signal);
  return { sessions, throttles, addresses, spentOtps, temporaryCodes: codes, notices };
}

/** Deletes the sessions of past hours. Their partitions are one range of keys, so that one query reads all of them. */
async function cleanUpSessions({ sessions, now }: AuthTables, signal: AbortSignal | undefined): Promise<number> {
  let removed = 0;
  if (signal?.aborted) return removed;
  const expired = sessions.scan({ beforePartition: sessionHour(now()) }, { select: [] });
  for await (const rows of partitions(expired, transactionSize)) {
    await removeRows(sessions, rows);
    removed += rows.length;
    if (signal?.aborted) break;
  }
  return removed;
}

/** Removes what an unfinished call has left. */
async function processNotice(tables: AuthTables, row: Row): Promise<"removed"> {
  const { id, table, partition, row: rowKey } = noticeColumns.fromRow(row);
  if (table === undefined || partition === undefined || rowKey === undefined) await finishDeletion(tables, id);
  else await removeFalseHint(tables, { table, partitionKey: partition, rowKey, id });
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
