import type { Table, Tables } from "../../platform/azure/tables.ts";
import { transactionSize } from "../../platform/azure/transaction.ts";
import { chunksOf } from "../../platform/collections.ts";
import type { Instant, Now } from "../../platform/time.ts";

/** A row by which a request is found: of the index of due work, or of a list. */
export interface IndexRow {
  readonly table: string;
  readonly partitionKey: string;
  readonly rowKey: string;
  /** The only column that may change while the keys stay. */
  readonly notBefore?: Instant | undefined;
  readonly columns: (writtenAt: Instant) => Readonly<Record<string, string | number | boolean>>;
}

/** Returns the functions that write and remove index rows: those of one partition in one transaction. */
export function indexWriter(tables: Tables, now: Now) {
  const forPartitions = (
    rows: readonly IndexRow[],
    work: (table: Table, partitionKey: string, rows: readonly IndexRow[]) => Promise<unknown>,
  ) => {
    const groups = Map.groupBy(rows, ({ table, partitionKey }) => `${table}/${partitionKey}`).values();
    return Promise.all(
      [...groups]
        // A transaction fails if two of its actions name the same row.
        .map(group => [...new Map(group.map(row => [row.rowKey, row])).values()])
        .flatMap(group => chunksOf(group, transactionSize))
        .map(some => work(tables.table(some[0]?.table ?? ""), some[0]?.partitionKey ?? "", some)),
    );
  };

  return {
    async put(rows: readonly IndexRow[]): Promise<void> {
      await forPartitions(rows, (table, partitionKey, some) => {
        const written = some.map(({ rowKey, columns }) => ({ rowKey, ...columns(now()) }));
        const [first] = written;
        if (written.length === 1 && first !== undefined) return table.upsert({ partitionKey, ...first });
        return table.transact(
          partitionKey,
          written.map(row => ({ upsert: row })),
        );
      });
    },

    /** Removes the rows that exist. */
    async remove(rows: readonly IndexRow[]): Promise<void> {
      await forPartitions(rows, async (table, partitionKey, some) => {
        const actions = some.map(({ rowKey }) => ({ remove: { rowKey } }));
        // The transaction fails if a row is missing. Then the rows are removed one by one.
        if (actions.length > 1 && (await table.transact(partitionKey, actions)) !== undefined) return;
        await Promise.all(some.map(({ rowKey }) => table.remove(partitionKey, rowKey)));
      });
    },
  };
}
