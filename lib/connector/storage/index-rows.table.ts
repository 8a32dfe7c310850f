import type { Table, Tables } from "../../platform/azure/tables.ts";
import { transactionSize } from "../../platform/azure/transaction.ts";
import { chunksOf } from "../../platform/collections.ts";
import type { Now } from "../../platform/time.ts";
import type { RequestValues } from "../model/loaded-request.ts";
import { listKeyOf, listsOf } from "../model/request-lists.ts";
import { dueRowsOf, dueTable, type IndexRow } from "./due-index.table.ts";
import { listRow } from "./lists.table.ts";

export const isDueRow = ({ table }: IndexRow): boolean => table === dueTable;

/** Returns the rows that index a request: its due work and its lists. */
export function indexRowsOf(values: RequestValues): readonly IndexRow[] {
  const key = listKeyOf(values.request);
  return [...dueRowsOf(values), ...listsOf(values).map(list => listRow(key, list))];
}

/** Returns the rows by their names, each once. Keys have no slash. */
const byName = (rows: readonly IndexRow[]): ReadonlyMap<string, IndexRow> =>
  new Map(rows.map(row => [`${row.table}/${row.partitionKey}/${row.rowKey}`, row]));

/** Returns the index rows of `after` to write, and those of `before` that `after` does not have. */
export function indexChange(before: RequestValues, after: RequestValues) {
  const known = byName(indexRowsOf(before));
  const current = byName(indexRowsOf(after));
  const added: IndexRow[] = [];
  const former = new Map(known);
  for (const [name, row] of current)
    if (!former.delete(name) || known.get(name)?.notBefore !== row.notBefore) added.push(row);
  return { added, former: [...former.values()] };
}

/** Returns the functions that write and remove index rows: those of one partition in one transaction. */
export function indexWriter(tables: Tables, now: Now) {
  const forPartitions = async (
    rows: readonly IndexRow[],
    work: (table: Table, partitionKey: string, rows: readonly IndexRow[]) => Promise<unknown>,
  ): Promise<void> => {
    // A transaction fails if two of its actions name the same row.
    const groups = Map.groupBy(byName(rows).values(), ({ table, partitionKey }) => `${table}/${partitionKey}`);
    const ended: Promise<unknown>[] = [];
    for (const [name, group] of groups) {
      const [table = "", partitionKey = ""] = name.split("/");
      for (const some of chunksOf(group, transactionSize)) ended.push(work(tables.table(table), partitionKey, some));
    }
    await Promise.all(ended);
  };

  return {
    put: (rows: readonly IndexRow[]): Promise<void> =>
      forPartitions(rows, (table, partitionKey, some) => {
        const written = some.map(({ rowKey, columns }) => ({ upsert: { rowKey, ...columns(now()) } }));
        const [first] = written;
        return written.length === 1 && first !== undefined
          ? table.upsert({ partitionKey, ...first.upsert })
          : table.transact(partitionKey, written);
      }),

    /** Removes the rows that exist. */
    remove: (rows: readonly IndexRow[]): Promise<void> =>
      forPartitions(rows, async (table, partitionKey, some) => {
        const actions = some.map(({ rowKey }) => ({ remove: { rowKey } }));
        // The transaction fails if a row is missing. Then the rows are removed one by one.
        if (actions.length > 1 && (await table.transact(partitionKey, actions)) !== undefined) return;
        await Promise.all(some.map(({ rowKey }) => table.remove(partitionKey, rowKey)));
      }),
  };
}
