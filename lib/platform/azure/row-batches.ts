import pLimit from "p-limit";
import { chunksOf } from "../collections.ts";
import type { Row, Table } from "./tables.ts";
import { transactionSize } from "./transaction.ts";

/** Number of storage calls in progress for one operation. */
const concurrency = 32;

/** Runs `work` for each item, a bounded number at once, and returns the results in order. */
export const mapConcurrently = <T, R>(
  items: readonly T[],
  work: (item: T, index: number) => Promise<R>,
): Promise<R[]> => pLimit(concurrency).map(items, work);

/** Groups rows, which are sorted by key, by partition, in groups of at most `most` rows. */
export async function* partitions<R extends { readonly partitionKey: string }>(
  rows: AsyncIterable<R>,
  most = Number.POSITIVE_INFINITY,
): AsyncGenerator<R[]> {
  let partition: R[] = [];
  for await (const row of rows) {
    if (partition.length === most || (partition.length > 0 && partition[0]?.partitionKey !== row.partitionKey)) {
      yield partition;
      partition = [];
    }
    partition.push(row);
  }
  if (partition.length > 0) yield partition;
}

/**
 * Changes the version of a row and nothing else, so that other writers get a conflict. Returns false after a conflict.
 */
export const touchRow = async (table: Table, { partitionKey, rowKey, etag, schema }: Row): Promise<boolean> =>
  (await table.merge({ partitionKey, rowKey, schema: Number(schema) }, etag)) !== undefined;

/**
 * Removes rows of one partition by their ETags, in transactions of 100. If one of 100 has changed in the meantime, the
 * others are removed one by one. Returns false if some were changed or removed in the meantime.
 */
export async function removeRows(table: Table, rows: readonly Row[]): Promise<boolean> {
  let areRemoved = true;
  for (const some of chunksOf(rows, transactionSize)) {
    const partitionKey = some[0]?.partitionKey ?? "";
    const actions = some.map(({ rowKey, etag }) => ({ remove: { rowKey }, etag }));
    if ((await table.transact(partitionKey, actions)) !== undefined) continue;
    areRemoved = false;
    await mapConcurrently(actions, action => table.transact(partitionKey, [action]));
  }
  return areRemoved;
}

/** Kept low, so that maintenance does not slow down calls of users. */
const maintenanceConcurrency = 16;

/** Processes items as they come, several in parallel. Rejects at the first failure. */
export async function forEachConcurrently<T>(items: AsyncIterable<T>, work: (item: T) => Promise<void>): Promise<void> {
  const worker = async () => {
    for await (const item of items) await work(item);
  };
  await Promise.all(Array.from({ length: maintenanceConcurrency }, worker));
}
