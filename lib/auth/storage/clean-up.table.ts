import { partitions, removeRows } from "../../platform/tables/row-batches.ts";
import { transactionSize } from "../../platform/tables/transaction.ts";
import { removeExpiredCode } from "../otpkeys/otpkeys.table.ts";
import { sessionHour } from "../sessions/session.ts";
import type { CleanedUp } from "../store.ts";
import { cleanUpQueue, type ExpiringQueue, removeExpired } from "./expiry.table.ts";
import { noticeQueue } from "./notices.table.ts";
import { processNotice } from "./process-notice.table.ts";
import type { AuthTables } from "./tables.table.ts";

/**
 * Deletes expired rows, sorted by expiry, and what unfinished calls have left (A19). Stops at the signal; the next run
 * continues.
 */
export async function removeExpiredRows(tables: AuthTables, signal: AbortSignal | undefined): Promise<CleanedUp> {
  const sessions = await cleanUpSessions(tables, signal);
  const remove = (queue: ExpiringQueue) =>
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
