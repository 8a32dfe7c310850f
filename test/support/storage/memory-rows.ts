import type { Filter, Scan } from "../../../lib/platform/azure/rows.ts";
import type { Row } from "../../../lib/platform/azure/tables.ts";

/** The rows of one partition, and their keys, which are sorted at their next use. */
interface Partition {
  readonly rows: Map<string, Row>;
  readonly keys: string[];
  isSorted: boolean;
}

function sortedKeys(partition: Partition): string[] {
  if (!partition.isSorted) partition.keys.sort();
  partition.isSorted = true;
  return partition.keys;
}

/** The rows of one table, found by key in constant time and in ranges in logarithmic time. */
export function memoryRows(start: ReadonlyMap<string, Partition> = new Map()) {
  const partitions = new Map<string, Partition>(
    [...start].map(([key, { rows, keys, isSorted }]) => [key, { rows: new Map(rows), keys: [...keys], isSorted }]),
  );
  /** Keys of the partitions in order; undefined until a query of several needs them. */
  let order: readonly string[] | undefined;

  /** Yields the rows of one partition from a key on. */
  function* rowsFrom(partitionKey: string, from: string): Generator<Row> {
    const partition = partitions.get(partitionKey);
    if (partition === undefined) return;
    const keys = sortedKeys(partition);
    for (let at = positionOf(keys, from); at < keys.length; at++) {
      const row = partition.rows.get(keys[at] ?? "");
      if (row !== undefined) yield row;
    }
  }

  return {
    get: (partitionKey: string, rowKey: string) => partitions.get(partitionKey)?.rows.get(rowKey),
    put(row: Row): void {
      const { partitionKey, rowKey } = row;
      let partition = partitions.get(partitionKey);
      if (partition === undefined) {
        partition = { rows: new Map(), keys: [], isSorted: true };
        partitions.set(partitionKey, partition);
        order = undefined;
      }
      if (!partition.rows.has(rowKey)) {
        if ((partition.keys.at(-1) ?? "") > rowKey) partition.isSorted = false;
        partition.keys.push(rowKey);
      }
      partition.rows.set(rowKey, row);
    },
    remove(partitionKey: string, rowKey: string): void {
      const partition = partitions.get(partitionKey);
      if (partition?.rows.delete(rowKey) !== true) return;
      const keys = sortedKeys(partition);
      keys.splice(positionOf(keys, rowKey), 1);
      if (keys.length > 0) return;
      partitions.delete(partitionKey);
      order = undefined;
    },
    /** Yields the rows that a filter selects, in order. @param continuation keys of the first row, joined by a line break */
    *inOrder(filter: Filter | Scan, continuation = ""): Generator<Row> {
      const [partition = "", rowKey = ""] = continuation.split("\n");
      const { from = "", rowKeyPrefix = "" } = filter;
      const greatest = (...keys: string[]) => keys.sort().at(-1) ?? "";
      const first = (key: string) => greatest(from, rowKeyPrefix, key === partition ? rowKey : "");
      if ("partitionKey" in filter) {
        for (const row of rowsFrom(filter.partitionKey, first(filter.partitionKey))) {
          if (filter.before !== undefined && row.rowKey >= filter.before) return;
          if (!row.rowKey.startsWith(rowKeyPrefix)) return;
          yield row;
        }
        return;
      }
      const { afterPartition = "", beforePartition, partitionPrefix = "", rowKeys } = filter;
      order ??= [...partitions.keys()].sort();
      const start = greatest(partition, afterPartition, partitionPrefix);
      for (let at = positionOf(order, start); at < order.length; at++) {
        const key = order[at] ?? "";
        if (beforePartition !== undefined && key >= beforePartition) return;
        if (!key.startsWith(partitionPrefix)) return;
        if (key === filter.afterPartition) continue;
        for (const row of rowsFrom(key, first(key)))
          if (row.rowKey.startsWith(rowKeyPrefix) && (rowKeys === undefined || rowKeys.includes(row.rowKey))) yield row;
      }
    },
    copy: () => memoryRows(partitions),
  };
}

/** Returns the position of the first key that is not before `key`. */
function positionOf(keys: readonly string[], key: string): number {
  let low = 0;
  let high = keys.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((keys[middle] ?? "") < key) low = middle + 1;
    else high = middle;
  }
  return low;
}
