import pLimit from "p-limit";
import type { Row, Table } from "./tables.ts";

/** Number of storage calls in progress for one operation. */
const concurrency = 32;

/** Runs `work` for each item, a bounded number at once, and returns the results in order. */
export const mapConcurrently = <T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> =>
  pLimit(concurrency).map(items, work);

export async function readAllRows(rows: AsyncIterable<Row>): Promise<Row[]> {
  const all: Row[] = [];
  for await (const row of rows) all.push(row);
  return all;
}

const transactionSize = 100;

/** Removes rows of one partition by their ETags. Returns false if some were changed or removed in the meantime. */
export async function removeRows(table: Table, rows: readonly Row[]): Promise<boolean> {
  let areRemoved = true;
  for (let start = 0; start < rows.length; start += transactionSize) {
    const some = rows.slice(start, start + transactionSize);
    const actions = some.map(({ rowKey, etag }) => ({ remove: { rowKey }, etag }));
    if ((await table.transact(some[0]?.partitionKey ?? "", actions)) !== undefined) continue;
    areRemoved = false;
    await mapConcurrently(some, ({ partitionKey, rowKey, etag }) => table.remove(partitionKey, rowKey, etag));
  }
  return areRemoved;
}
