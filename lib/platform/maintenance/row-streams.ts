import { chunksOf } from "../chunks.ts";
import type { Entity, Table } from "../tables/tables.ts";
import { transactionSize } from "../tables/transaction.ts";

/** Kept low, so that maintenance does not slow down calls of users. */
const concurrency = 16;

/** Processes items as they come, several in parallel. Rejects at the first failure. */
export async function forEachConcurrently<T>(items: AsyncIterable<T>, work: (item: T) => Promise<void>): Promise<void> {
  const worker = async () => {
    for await (const item of items) await work(item);
  };
  await Promise.all(Array.from({ length: concurrency }, worker));
}

/** Returns a writer that collects rows of one partition and writes 100 at a time. `flush` writes the rest. */
export function createBatchWriter(table: Table) {
  let rows: Entity[] = [];
  const flush = async () => {
    const some = rows;
    rows = [];
    await upsertAll(table, some);
  };
  return {
    async add(row: Entity) {
      rows.push(row);
      if (rows.length === transactionSize) await flush();
    },
    flush,
  };
}

/** Inserts or replaces rows of one partition without conditions, in transactions of 100. */
export async function upsertAll(table: Table, rows: readonly Entity[]): Promise<void> {
  for (const some of chunksOf(rows, transactionSize)) {
    const actions = some.map(({ partitionKey, ...row }) => ({ upsert: row }));
    await table.transact(some[0]?.partitionKey ?? "", actions);
  }
}
