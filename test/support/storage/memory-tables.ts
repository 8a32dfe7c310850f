import { checkedEtag, type Entity, type Filter, type Scan, toEntity, toRow } from "../../../lib/platform/azure/rows.ts";
import type { Action, Row, Table, Tables } from "../../../lib/platform/azure/tables.ts";
import { memoryRows } from "./memory-rows.ts";

/** Tables in memory: for tests that run an operation many thousand times, and for the growth of `bench/scale.ts`. */
export interface MemoryTables extends Tables {
  /** Rows of a table, sorted by partition key and row key. */
  rowsOf(table: string): readonly Row[];
  /** Puts a row as it is. */
  put(table: string, row: Row): void;
  /** Tables with the same rows, which change apart from these. */
  copy(): MemoryTables;
}

type Rows = ReturnType<typeof memoryRows>;

/** Opens tables that keep the rules of Table storage: conditions, transactions, order of keys. Every table exists. */
export function memoryTables(start: ReadonlyMap<string, Rows> = new Map(), versions = { last: 0 }): MemoryTables {
  const all = new Map([...start].map(([name, rows]) => [name, rows.copy()]));
  const rowsOf = (name: string): Rows => {
    const rows = all.get(name) ?? memoryRows();
    all.set(name, rows);
    return rows;
  };
  const newEtag = () => `W/"${++versions.last}"`;
  return {
    table: name => memoryTable(() => rowsOf(name), newEtag),
    createTable: async () => {},
    rowsOf: name => [...rowsOf(name).inOrder({})],
    put: (table, row) => rowsOf(table).put(row),
    copy: () => memoryTables(all, { ...versions }),
  };
}

function memoryTable(rows: () => Rows, newEtag: () => string): Table {
  const put = (entity: Entity, base: object = {}): string => {
    const etag = newEtag();
    // By the same conversion as for storage, which refuses what it cannot store.
    const { partitionKey, rowKey, ...columns } = toRow(toEntity(entity));
    const plain = Object.fromEntries(
      Object.entries(columns).map(([name, value]) => [
        name,
        value instanceof Object ? Number((value as { value: string }).value) : value,
      ]),
    );
    rows().put({ ...base, ...plain, partitionKey, rowKey, etag });
    return etag;
  };
  const get = (partitionKey: string, rowKey: string) => rows().get(partitionKey, rowKey);
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
      rows().remove(partitionKey, action.remove.rowKey);
      return undefined;
    }
    if ("merge" in action) return put({ ...action.merge, partitionKey }, get(partitionKey, action.merge.rowKey));
    const part = "insert" in action ? action.insert : "replace" in action ? action.replace : action.upsert;
    return put({ ...part, partitionKey });
  };
  const page: Table["queryPage"] = async (filter, { top, continuation }) => {
    const shown: Row[] = [];
    for (const row of rows().inOrder(filter, continuation)) {
      if (shown.length === top) return { rows: shown, continuation: `${row.partitionKey}\n${row.rowKey}` };
      shown.push(row);
    }
    return { rows: shown };
  };
  const transact = (partitionKey: string, actions: readonly Action[]) =>
    actions.every(action => isMet(partitionKey, action))
      ? actions.map(action => make(partitionKey, action))
      : undefined;
  const write = async ({ partitionKey, ...part }: Entity, action: (part: Omit<Entity, "partitionKey">) => Action) =>
    transact(partitionKey, [action(part)])?.[0];
  async function* query(filter: Filter | Scan, { limit = Number.POSITIVE_INFINITY } = {}) {
    yield* (await page(filter, { top: limit })).rows;
  }
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
    query,
    queryPage: page,
    scan: (range = {}, options) => query(range, options),
  };
}
