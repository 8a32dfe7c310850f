/** A row of the simulated table server. Columns are as they came, with their `@odata.type` annotations. */
export interface StoredRow {
  readonly rowKey: string;
  readonly etag: string;
  readonly columns: Readonly<Record<string, unknown>>;
}

/** One write. `etag` is the condition: an ETag or `*`; an upsert has none. */
export interface Change {
  readonly kind: "insert" | "replace" | "merge" | "remove";
  readonly rowKey: string;
  readonly columns: Readonly<Record<string, unknown>>;
  readonly etag?: string | undefined;
}

/** Why a write was refused, with the position of the change in its transaction. */
export interface Refusal {
  readonly status: 404 | 409 | 412;
  readonly code: "ResourceNotFound" | "EntityAlreadyExists" | "UpdateConditionNotSatisfied";
  readonly index: number;
}

export interface Range {
  readonly from: string;
  /** Excluded. Undefined: up to the end of the partition. */
  readonly before: string | undefined;
}

/** The rows of one table. Rows of a partition are found by key in constant time, and ranges in logarithmic time. */
export interface TableRows {
  get(partitionKey: string, rowKey: string): StoredRow | undefined;
  /** Makes all changes or none. Returns the new ETags; undefined for removals. */
  write(partitionKey: string, changes: readonly Change[]): readonly (string | undefined)[] | Refusal;
  /** Returns at most `top` rows of a range in order, and the key of the next row if there are more. */
  range(
    partitionKey: string,
    range: Range,
    top: number,
  ): { readonly rows: readonly StoredRow[]; readonly next?: string };
  /** Returns the keys of all partitions in order. */
  partitions(): readonly string[];
  /** Adds a new row without a check. The partition is sorted at its next use, so that many rows are added fast. */
  add(partitionKey: string, rowKey: string, columns: StoredRow["columns"]): void;
}

interface Partition {
  readonly rows: Map<string, StoredRow>;
  /** By UTF-16 units, as the service compares. */
  readonly keys: string[];
  isSorted: boolean;
}

let written = 0;
const newEtag = (): string => `W/"datetime'${(written++).toString(36)}'"`;

export function tableRows(): TableRows {
  const partitions = new Map<string, Partition>();

  const partitionOf = (partitionKey: string): Partition => {
    const partition = partitions.get(partitionKey) ?? { rows: new Map(), keys: [], isSorted: true };
    partitions.set(partitionKey, partition);
    return partition;
  };
  const sorted = (partition: Partition): Partition => {
    if (!partition.isSorted) partition.keys.sort();
    partition.isSorted = true;
    return partition;
  };
  const put = (partitionKey: string, row: StoredRow): void => {
    const partition = sorted(partitionOf(partitionKey));
    if (!partition.rows.has(row.rowKey)) partition.keys.splice(positionOf(partition.keys, row.rowKey), 0, row.rowKey);
    partition.rows.set(row.rowKey, row);
  };
  const remove = (partitionKey: string, rowKey: string): void => {
    const partition = partitions.get(partitionKey);
    if (partition?.rows.delete(rowKey) !== true) return;
    const { keys } = sorted(partition);
    keys.splice(positionOf(keys, rowKey), 1);
    if (keys.length === 0) partitions.delete(partitionKey);
  };
  const get: TableRows["get"] = (partitionKey, rowKey) => partitions.get(partitionKey)?.rows.get(rowKey);

  return {
    get,
    write(partitionKey, changes) {
      for (const [index, change] of changes.entries()) {
        const refusal = refusalOf(change, get(partitionKey, change.rowKey));
        if (refusal !== undefined) return { ...refusal, index };
      }
      return changes.map(({ kind, rowKey, columns }) => {
        if (kind === "remove") {
          remove(partitionKey, rowKey);
          return undefined;
        }
        const former = kind === "merge" ? get(partitionKey, rowKey)?.columns : undefined;
        const etag = newEtag();
        put(partitionKey, { rowKey, etag, columns: { ...former, ...columns } });
        return etag;
      });
    },
    range(partitionKey, { from, before }, top) {
      const partition = partitions.get(partitionKey);
      if (partition === undefined) return { rows: [] };
      const { keys, rows } = sorted(partition);
      const start = positionOf(keys, from);
      const end = before === undefined ? keys.length : positionOf(keys, before);
      const found = keys.slice(start, Math.min(end, start + top));
      const next = start + top < end ? keys[start + top] : undefined;
      return {
        rows: found.flatMap(key => rows.get(key) ?? []),
        ...(next !== undefined && { next }),
      };
    },
    partitions: () => [...partitions.keys()].sort(),
    add(partitionKey, rowKey, columns) {
      const partition = partitionOf(partitionKey);
      partition.rows.set(rowKey, { rowKey, etag: newEtag(), columns });
      partition.keys.push(rowKey);
      partition.isSorted = false;
    },
  };
}

function refusalOf({ kind, etag }: Change, row: StoredRow | undefined): Omit<Refusal, "index"> | undefined {
  if (kind === "insert") return row && { status: 409, code: "EntityAlreadyExists" };
  if (etag === undefined) return undefined;
  if (row === undefined) return { status: 404, code: "ResourceNotFound" };
  return etag === "*" || etag === row.etag ? undefined : { status: 412, code: "UpdateConditionNotSatisfied" };
}

/** Returns the position of the first key that is not before `key`. */
function positionOf(keys: readonly string[], key: string): number {
  let low = 0;
  let high = keys.length;
  // Rows are mostly added at the end.
  if (high > 0 && (keys[high - 1] ?? "") < key) return high;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((keys[middle] ?? "") < key) low = middle + 1;
    else high = middle;
  }
  return low;
}
