import { checkedEtag, type Entity, type Filter, type Scan, toEntity, toRow } from "../../../lib/platform/azure/rows.ts";
import type { Action, Row, Table, Tables } from "../../../lib/platform/azure/tables.ts";

/** Rows of all tables by their keys. */
type Rows = Map<string, Row>;

/** Tables in memory, for tests that run an operation many thousand times. */
export interface MemoryTables extends Tables {
  /** Rows of a table, sorted by partition key and row key. */
  rowsOf(table: string): readonly Row[];
  /** Tables with the same rows, which change apart from these. */
  copy(): MemoryTables;
}

/** Opens tables that keep the rules of Table storage: conditions, transactions, order of keys. Every table exists. */
export function memoryTables(start: ReadonlyMap<string, Rows> = new Map(), versions = { last: 0 }): MemoryTables {
  const all = new Map([...start].map(([name, rows]) => [name, new Map(rows)]));
  const rowsOf = (name: string): Rows => {
    const rows = all.get(name) ?? new Map();
    all.set(name, rows);
    return rows;
  };
  const sorted = (name: string) => [...rowsOf(name).values()].sort(byKeys);
  return {
    table: name =>
      memoryTable(
        () => rowsOf(name),
        () => sorted(name),
        versions,
      ),
    createTable: async () => {},
    rowsOf: sorted,
    copy: () => memoryTables(all, { ...versions }),
  };
}

const keyOf = (partitionKey: string, rowKey: string): string => `${partitionKey}\n${rowKey}`;

const compare = (one: string, other: string): number => (one < other ? -1 : one > other ? 1 : 0);
const byKeys = (one: Row, other: Row): number =>
  compare(one.partitionKey, other.partitionKey) || compare(one.rowKey, other.rowKey);

function memoryTable(rows: () => Rows, sorted: () => readonly Row[], versions: { last: number }): Table {
  const put = (entity: Entity, base: object = {}): string => {
    const etag = `W/"${++versions.last}"`;
    // By the same conversion as for storage, which refuses what it cannot store.
    const { partitionKey, rowKey, ...columns } = toRow(toEntity(entity));
    const plain = Object.fromEntries(
      Object.entries(columns).map(([name, value]) => [
        name,
        value instanceof Object ? Number((value as { value: string }).value) : value,
      ]),
    );
    rows().set(keyOf(partitionKey, rowKey), { ...base, ...plain, partitionKey, rowKey, etag });
    return etag;
  };
  const get = (partitionKey: string, rowKey: string) => rows().get(keyOf(partitionKey, rowKey));
  const isMet = (partitionKey: string, action: Action): boolean => {
    if ("insert" in action) return get(partitionKey, action.insert.rowKey) === undefined;
    if ("upsert" in action) return true;
    if ("remove" in action) {
      const row = get(partitionKey, action.remove.rowKey);
      return row !== undefined && (action.etag === undefined || row.etag === action.etag);
    }
    const { rowKey } = "replace" in action ? action.replace : action.merge;
    return get(partitionKey, rowKey)?.etag === checkedEtag(action.etag);
  };
  const make = (partitionKey: string, action: Action): string | undefined => {
    if ("remove" in action) {
      rows().delete(keyOf(partitionKey, action.remove.rowKey));
      return undefined;
    }
    if ("merge" in action) return put({ ...action.merge, partitionKey }, get(partitionKey, action.merge.rowKey));
    const part = "insert" in action ? action.insert : "replace" in action ? action.replace : action.upsert;
    return put({ ...part, partitionKey });
  };
  const page: Table["queryPage"] = async (filter, { top, continuation = "" }) => {
    const found = sorted().filter(row => keyOf(row.partitionKey, row.rowKey) >= continuation && isIn(filter, row));
    const next = found[top];
    const shown = found.slice(0, top);
    return next === undefined ? { rows: shown } : { rows: shown, continuation: keyOf(next.partitionKey, next.rowKey) };
  };
  const transact = (partitionKey: string, actions: readonly Action[]) =>
    actions.every(action => isMet(partitionKey, action))
      ? actions.map(action => make(partitionKey, action))
      : undefined;
  const write = async ({ partitionKey, ...part }: Entity, action: (part: Omit<Entity, "partitionKey">) => Action) =>
    transact(partitionKey, [action(part)])?.[0];
  return {
    get: async (partitionKey, rowKey) => get(partitionKey, rowKey),
    insert: entity => write(entity, insert => ({ insert }) as Action),
    replace: (entity, etag) => write(entity, replace => ({ replace, etag }) as Action),
    merge: (entity, etag) => write(entity, merge => ({ merge, etag }) as Action),
    mergeExisting: async entity => {
      const row = get(entity.partitionKey, entity.rowKey);
      return row && put(entity, row);
    },
    upsert: async entity => put(entity),
    remove: async (partitionKey, rowKey, etag) =>
      transact(partitionKey, [{ remove: { rowKey }, ...(etag !== undefined && { etag }) }]) !== undefined,
    transact: async (partitionKey, actions) => transact(partitionKey, actions),
    query: async function* (filter, { limit = Number.POSITIVE_INFINITY } = {}) {
      yield* (await page(filter, { top: limit })).rows;
    },
    queryPage: page,
    scan: async function* (range = {}) {
      yield* (await page(range, { top: Number.POSITIVE_INFINITY })).rows;
    },
  };
}

function isIn(filter: Filter | Scan, { partitionKey, rowKey }: Row): boolean {
  if (!("partitionKey" in filter)) {
    const { afterPartition, beforePartition, rowKeys, from = "" } = filter;
    return (
      rowKey >= from &&
      (rowKeys === undefined || rowKeys.includes(rowKey)) &&
      (afterPartition === undefined || partitionKey > afterPartition) &&
      (beforePartition === undefined || partitionKey < beforePartition)
    );
  }
  return (
    partitionKey === filter.partitionKey &&
    (filter.from === undefined || rowKey >= filter.from) &&
    (filter.before === undefined || rowKey < filter.before) &&
    rowKey.startsWith(filter.rowKeyPrefix ?? "")
  );
}
