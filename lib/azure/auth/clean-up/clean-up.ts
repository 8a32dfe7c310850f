import type { CleanedUp } from "../../../auth/store.ts";
import { days, hours, type Instant, plus } from "../../../time.ts";
import { removeRows } from "../../tables/row-batches.ts";
import { parseRow, readOrLog } from "../../tables/row-schema.ts";
import { doneSchema } from "../rows/row-schemas.ts";
import { checkedVersion, schemaVersion } from "../rows/rows.ts";
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

const hourOf = (time: Instant) => time.slice(0, 13);
const startOf = (hour: string): Instant => `${hour}:00:00.000Z`;

/** The row that stores the last hour that was cleaned up. It sorts after every hour, so no hour's clean-up deletes it. */
const done = { partitionKey: "done", rowKey: "done" };

/** How far back the first run starts. */
const firstRunMs = days(2);

/** Deletes the sessions of past hours. Repeats the last hour of the previous run, because a late write may have followed it. */
async function cleanUpSessions({ sessions, now, log }: AuthTables, signal: AbortSignal | undefined): Promise<number> {
  const row = await sessions.get(done.partitionKey, done.rowKey);
  const last = row && (await readOrLog(log, () => parseRow("done", checkedVersion(row), doneSchema, row)));
  const current = startOf(hourOf(now()));
  let hour = last === undefined ? startOf(hourOf(plus(current, -firstRunMs))) : startOf(last.hour);
  let removed = 0;
  let doneHour: string | undefined;
  for (; hour < current && !signal?.aborted; hour = plus(hour, hours(1))) {
    removed += await emptyHour(sessions, hourOf(hour), signal);
    if (!signal?.aborted) doneHour = hourOf(hour);
  }
  if (doneHour !== undefined) await sessions.upsert({ ...done, schema: schemaVersion, hour: doneHour });
  return removed;
}

async function emptyHour(
  table: AuthTables["sessions"],
  hour: string,
  signal: AbortSignal | undefined,
): Promise<number> {
  let removed = 0;
  let continuation: string | undefined;
  do {
    const page: Awaited<ReturnType<typeof table.queryPage>> = await table.queryPage(
      { partitionKey: hour },
      { top: 1000, continuation, select: [] },
    );
    await removeRows(table, page.rows);
    removed += page.rows.length;
    ({ continuation } = page);
  } while (continuation !== undefined && !signal?.aborted);
  return removed;
}
