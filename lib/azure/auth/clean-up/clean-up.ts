import type { CleanedUp } from "../../../auth/store.ts";
import { days, hours, type Instant, plus } from "../../../time.ts";
import { removeRows } from "../../tables/many.ts";
import { parseRow, readOrLog } from "../../tables/row-schema.ts";
import { doneSchema } from "../rows/row-schemas.ts";
import { checkedVersion, schemaVersion } from "../rows/rows.ts";
import type { AuthTables } from "../rows/tables.ts";
import { cleanUpQueue } from "./expiry-index.ts";

/** Removes what is over: sessions by the hour, the rest in the order of expiry (decision A19). */
export async function cleanUp(shelves: AuthTables, signal: AbortSignal | undefined): Promise<CleanedUp> {
  const sessions = await cleanUpSessions(shelves, signal);
  const throttles = await cleanUpQueue(shelves, "throttle", signal);
  const addresses = await cleanUpQueue(shelves, "address", signal);
  const spentOtps = await cleanUpQueue(shelves, "spentotp", signal);
  return { sessions, throttles, addresses, spentOtps };
}

const hourOf = (time: Instant) => time.slice(0, 13);
const startOf = (hour: string): Instant => `${hour}:00:00.000Z`;

/** Where it is written how far earlier runs came; no hour sorts after it. */
const done = { partitionKey: "done", rowKey: "done" };

/** How far back the first run looks. */
const firstMs = days(2);

/** Hour after hour from where the last run ended, the last one again, for a session that came late. */
async function cleanUpSessions({ sessions, now, log }: AuthTables, signal: AbortSignal | undefined): Promise<number> {
  const row = await sessions.get(done.partitionKey, done.rowKey);
  const mark = row && (await readOrLog(log, () => parseRow("done", checkedVersion(row), doneSchema, row)));
  const current = startOf(hourOf(now()));
  let hour = mark === undefined ? startOf(hourOf(plus(current, -firstMs))) : startOf(mark.hour);
  let removed = 0;
  let last: string | undefined;
  for (; hour < current && !signal?.aborted; hour = plus(hour, hours(1))) {
    removed += await emptyHour(sessions, hourOf(hour), signal);
    if (!signal?.aborted) last = hourOf(hour);
  }
  if (last !== undefined) await sessions.upsert({ ...done, schema: schemaVersion, hour: last });
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
