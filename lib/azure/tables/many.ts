import type { Row, Table } from "./tables.ts";

const atOnce = 32;

/** `work` for each, a bounded number at once; the results in order. */
export async function mapConcurrently<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  let next = 0;
  const worker = async () => {
    while (next < items.length) {
      const index = next++;
      results[index] = await work(items[index] as T);
    }
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, worker));
  return results;
}

export async function readAllRows(rows: AsyncIterable<Row>): Promise<Row[]> {
  const all: Row[] = [];
  for await (const row of rows) all.push(row);
  return all;
}

const transactionSize = 100;

/** Removes rows of one partition as they were read. False where some changed or went meanwhile. */
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
