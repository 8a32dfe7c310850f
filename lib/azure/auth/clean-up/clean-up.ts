import { sessionHour } from "../../../auth/model/session.ts";
import type { CleanedUp } from "../../../auth/store.ts";
import { partitions, removeRows } from "../../tables/row-batches.ts";
import { transactionSize } from "../../tables/transaction.ts";
import type { AuthTables } from "../rows/tables.ts";
import { cleanUpQueue } from "./expiry-index.ts";

/** Deletes expired rows: sessions by the hour, all others by the expiry index (A19). */
export async function cleanUp(tables: AuthTables, signal: AbortSignal | undefined): Promise<CleanedUp> {
  const sessions = await cleanUpSessions(tables, signal);
  const throttles = await cleanUpQueue(tables, "throttle", signal);
  const addresses = await cleanUpQueue(tables, "address", signal);
  const spentOtps = await cleanUpQueue(tables, "spentotp", signal);
  const temporaryCodes = await cleanUpQueue(tables, "temporarycode", signal);
  const renames = await cleanUpQueue(tables, "rename", signal);
  return { sessions, throttles, addresses, spentOtps, temporaryCodes, renames };
}

/** Deletes the sessions of past hours. Their partitions are one range of keys, so that one query reads all of them. */
async function cleanUpSessions({ sessions, now }: AuthTables, signal: AbortSignal | undefined): Promise<number> {
  let removed = 0;
  if (signal?.aborted) return removed;
  const expired = sessions.scan({ beforePartition: sessionHour(now()), select: [] });
  for await (const rows of partitions(expired, transactionSize)) {
    await removeRows(sessions, rows);
    removed += rows.length;
    if (signal?.aborted) break;
  }
  return removed;
}
