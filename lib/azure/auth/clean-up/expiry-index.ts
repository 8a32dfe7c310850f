import type { Instant } from "../../../time.ts";
import { mapConcurrently, removeRows } from "../../tables/many.ts";
import { parseRow, readOrLog } from "../../tables/row-schema.ts";
import type { Entity, Page, Row, Table } from "../../tables/tables.ts";
import { endingSchema, expirySchema } from "../rows/row-schemas.ts";
import { checkedVersion, schemaVersion } from "../rows/rows.ts";
import type { AuthTables } from "../rows/tables.ts";

/** What ends at a time of its own, one queue each. Sessions are not among them: their partitions are hours. */
type Queue = "throttle" | "address" | "spentotp";

/** A row that says in `ends` when it may go. */
type Ending = Entity & { readonly ends: Instant };

const tableOf = ({ users, addresses, spentOtps }: AuthTables, queue: Queue): Table =>
  ({ throttle: users, address: addresses, spentotp: spentOtps })[queue];

/**
 * A row in the order of expiry: whoever cleans up after that hour looks at the row that it names. By the hour, or attempts that
 * all come too late to be the first would leave a row each.
 */
const orderRow = (queue: Queue, { partitionKey, rowKey, ends }: Ending) => ({
  partitionKey: queue,
  rowKey: `${ends.slice(0, 13)}_${partitionKey}_${rowKey}`,
  schema: schemaVersion,
  partition: partitionKey,
  row: rowKey,
});

/** Side by side with its place in the order of expiry. @returns the etag; undefined where the row exists */
async function insertEnding(shelves: AuthTables, queue: Queue, row: Ending): Promise<string | undefined> {
  const [etag] = await Promise.all([tableOf(shelves, queue).insert(row), shelves.expiry.upsert(orderRow(queue, row))]);
  return etag;
}

/** Replaced by version, or inserted where none was read. A row once in the order stays in it until it goes. */
export const saveExpiring = (
  shelves: AuthTables,
  queue: Queue,
  row: Ending,
  version: string | undefined,
): Promise<string | undefined> =>
  version === undefined ? insertEnding(shelves, queue, row) : tableOf(shelves, queue).replace(row, version);

/** An OTP that others check is inserted under its key before they are asked (decision A8). */
export const spendOnce = async (
  shelves: AuthTables,
  prefix: string,
  otpHash: string,
  ends: Instant,
): Promise<boolean> =>
  (await insertEnding(shelves, "spentotp", {
    partitionKey: prefix,
    rowKey: otpHash,
    schema: schemaVersion,
    ends,
  })) !== undefined;

/** Removes what ended. @returns how many rows */
export async function cleanUpQueue(
  shelves: AuthTables,
  queue: Queue,
  signal: AbortSignal | undefined,
): Promise<number> {
  const { expiry, now, log } = shelves;
  const ended = { partitionKey: queue, before: now().slice(0, 13) };
  let removed = 0;
  let continuation: string | undefined;
  do {
    if (signal?.aborted) break;
    const page: Page = await expiry.queryPage(ended, { top: 1000, continuation });
    const results = await mapConcurrently(page.rows, order => readOrLog(log, () => settleOrder(shelves, queue, order)));
    removed += results.filter(result => result === "removed").length;
    const through = page.rows.filter((_, index) => results[index] === "removed" || results[index] === "passed");
    await removeRows(expiry, through);
    ({ continuation } = page);
  } while (continuation !== undefined);
  return removed;
}

/** Looks at the row that has come up, and removes it where it ended. One that ends later gets a later place. */
async function settleOrder(shelves: AuthTables, queue: Queue, order: Row): Promise<"removed" | "passed" | "changed"> {
  const table = tableOf(shelves, queue);
  const named = parseRow("expiry", checkedVersion(order), expirySchema, order);
  const row = checkedVersion(await table.get(named.partition, named.row));
  if (row === undefined) return "passed";
  const { partitionKey, rowKey, etag } = row;
  const { ends } = parseRow(queue, row, endingSchema, row);
  if (ends > shelves.now()) {
    await shelves.expiry.upsert(orderRow(queue, { partitionKey, rowKey, ends }));
    return "passed";
  }
  return (await table.remove(partitionKey, rowKey, etag)) ? "removed" : "changed";
}
