import { setTimeout as wait } from "node:timers/promises";
import type { Action, Filter, Row, Scan, Table, Tables } from "../../lib/platform/azure/tables.ts";

/** The documented targets of Table storage (docs/scale.md): operations a second. Each row of a transaction is one. */
export const documentedLimits = { partition: 2000, account: 20_000 };

/** What was counted. */
export interface MeterReport {
  /** Requests that cost a transaction: a query of one page, a transaction of many rows, or a call of one row. */
  readonly requests: number;
  /** The most operations in one second. */
  readonly peak: number;
  /** Requests beyond a limit, which the service may refuse with 503. */
  readonly beyond: number;
  /** Requests by kind and table, such as `insert due`. */
  readonly byKind: Readonly<Record<string, number>>;
  /** The partitions with most operations. */
  readonly hottest: readonly { readonly partition: string; readonly operations: number }[];
}

/** The result of some work, its seconds, and what it did to the tables. */
export interface Metered<T> {
  readonly result: T;
  readonly seconds: number;
  readonly report: MeterReport;
}

/** A page of several partitions ends where those of a server end. Here each server has this many. */
const partitionsOfServer = 4;

/** Opens tables whose calls take time and are counted by partition and second. @param latencyMs bounds of the time of a call */
export function meteredTables(inner: Tables, latencyMs: readonly [least: number, most: number]) {
  let meter = createMeter();
  const call = async <T>(kind: string, partition: string, rows: number, work: () => Promise<T>): Promise<T> => {
    meter.count(kind, partition, rows);
    const [least, most] = latencyMs;
    await wait(least + Math.random() * (most - least));
    return work();
  };
  const tables: Tables = { ...inner, table: name => meteredTable(name, inner.table(name), call) };
  return {
    tables,
    async metered<T>(work: () => Promise<T>): Promise<Metered<T>> {
      meter = createMeter();
      const began = performance.now();
      const result = await work();
      return { result, seconds: (performance.now() - began) / 1000, report: meter.report() };
    },
  };
}

type Call = <T>(kind: string, partition: string, rows: number, work: () => Promise<T>) => Promise<T>;

function meteredTable(name: string, table: Table, call: Call): Table {
  const of = <T>(kind: string, partitionKey: string, work: () => Promise<T>, rows = 1) =>
    call(`${kind} ${name}`, `${name}/${partitionKey}`, rows, work);
  const queryPage: Table["queryPage"] = async (filter, options) => {
    if ("partitionKey" in filter) return of("query", filter.partitionKey, () => table.queryPage(filter, options));
    const page = await table.queryPage(filter, options);
    const found = [...new Set(page.rows.map(({ partitionKey }) => partitionKey))];
    const servers = found.length === 0 ? [""] : found.filter((_, at) => at % partitionsOfServer === 0);
    for (const partition of servers) await of("query", partition, async () => {});
    return page;
  };
  async function* query(filter: Filter | Scan, { limit = Number.POSITIVE_INFINITY } = {}): AsyncGenerator<Row> {
    // A range of partitions may begin on a server without rows of it, whose page is empty.
    if (!("partitionKey" in filter)) await of("query", "", async () => {});
    let left = limit;
    let continuation: string | undefined;
    do {
      const page = await queryPage(filter, { top: Math.min(left, 1000), continuation });
      yield* page.rows;
      left -= page.rows.length;
      continuation = page.continuation;
    } while (left > 0 && continuation !== undefined);
  }
  return {
    get: (partitionKey, rowKey) => of("get", partitionKey, () => table.get(partitionKey, rowKey)),
    insert: entity => of("insert", entity.partitionKey, () => table.insert(entity)),
    replace: (entity, etag) => of("replace", entity.partitionKey, () => table.replace(entity, etag)),
    merge: (entity, etag) => of("merge", entity.partitionKey, () => table.merge(entity, etag)),
    mergeExisting: entity => of("merge", entity.partitionKey, () => table.mergeExisting(entity)),
    upsert: entity => of("upsert", entity.partitionKey, () => table.upsert(entity)),
    remove: (partitionKey, rowKey, etag) => of("remove", partitionKey, () => table.remove(partitionKey, rowKey, etag)),
    transact: (partitionKey, actions: readonly Action[]) =>
      of("transaction", partitionKey, () => table.transact(partitionKey, actions), actions.length),
    query,
    queryPage,
    scan: (range = {}, options) => query(range, options),
  };
}

function createMeter() {
  let second = 0;
  let inSecond = new Map<string, number>();
  let allInSecond = 0;
  let [requests, peak, beyond] = [0, 0, 0];
  const byKind = new Map<string, number>();
  const partitions = new Map<string, number>();
  const add = (counts: Map<string, number>, key: string, count: number): number => {
    const sum = (counts.get(key) ?? 0) + count;
    counts.set(key, sum);
    return sum;
  };
  return {
    count(kind: string, partition: string, rows: number): void {
      const current = Math.floor(performance.now() / 1000);
      if (current !== second) [second, inSecond, allInSecond] = [current, new Map(), 0];
      requests += 1;
      allInSecond += rows;
      peak = Math.max(peak, allInSecond);
      const used = add(inSecond, partition, rows);
      if (used > documentedLimits.partition || allInSecond > documentedLimits.account) beyond += 1;
      add(byKind, kind, 1);
      add(partitions, partition, rows);
    },
    report: (): MeterReport => ({
      requests,
      peak,
      beyond,
      byKind: Object.fromEntries([...byKind].sort(([, a], [, b]) => b - a)),
      hottest: [...partitions]
        .map(([partition, operations]) => ({ partition, operations }))
        .sort((a, b) => b.operations - a.operations)
        .slice(0, 12),
    }),
  };
}
