import { randomBytes } from "node:crypto";
import { foldUsername } from "../../../lib/auth/model/username.ts";
import type { AuthStore, NewOtpKey, UserRef } from "../../../lib/auth/store.ts";
import { authTables } from "../../../lib/azure/auth/rows/tables.ts";
import { authStore } from "../../../lib/azure/auth/store.ts";
import { openTables, type Row, type Table, type Tables } from "../../../lib/azure/tables/tables.ts";
import { createLog } from "../../../lib/log.ts";
import { type Instant, instant, plus } from "../../../lib/time.ts";
import { freshStorage, storageTimeoutMs } from "../storage/fresh-storage.ts";
import { type ReadRows, readRows } from "./store-truth.ts";

/** Storage calls of one piece of work: all of them, and the longest chain in which each had to wait for the one before. */
export interface Calls {
  readonly total: number;
  readonly depth: number;
}

export interface AuthStorage {
  readonly store: AuthStore;
  /** Another host's, on the same storage. */
  another(): AuthStore;
  /** On these tables, by the same clock or one that is ahead. */
  on(tables: Tables, aheadMs?: number): AuthStore;
  /** One whose clock stands still and whose chance is always the same, but for every fourth time. */
  fixed(): AuthStore;
  readonly tables: Tables;
  /** Rows as they are now. A partition is read again only after a write to it, because tests read all rows many times. */
  readonly rows: ReadRows;
  /** Counts what `work` sends, retries too; nothing else may be under way. */
  counted<T>(work: () => Promise<T>): Promise<{ readonly result: T; readonly calls: Calls }>;
  now(): Instant;
  /** Moves the clock. */
  pass(ms: number): void;
}

/** A store of its own in real storage. */
export async function openAuthStorage(): Promise<AuthStorage> {
  const { connectionString } = freshStorage();
  const counter = createCounter();
  const read = new Map<string, Promise<readonly Row[]>>();
  const placeOf = (...place: readonly [table: string, partitionKey: string]) => place.join("/");
  const open = () =>
    reportWrites(
      openTables({ connectionString, timeoutMs: storageTimeoutMs, policies: [counter.policy] }),
      (table, partitionKey) => read.delete(placeOf(table, partitionKey)),
    );
  const tables = open();
  await Promise.all(authTables.map(name => tables.createTable(name)));
  let time = instant(Date.UTC(2026, 10, 21, 12, 30));
  let ticks = 0;
  // Every look at the clock is a little later, as two moments are.
  const now = () => plus(time, ticks++ % 1000);
  const on = (some: Tables, aheadMs = 0) =>
    authStore(some, { now: () => plus(now(), aheadMs), random: randomBytes, log: createLog(() => {}) });
  return {
    store: on(tables),
    another: () => on(open()),
    on,
    fixed: () => {
      const at = now();
      let drawn = 0;
      const random = (bytes: number) => new Uint8Array(bytes).fill(Math.floor(drawn++ / 4));
      return authStore(tables, { now: () => at, random, log: createLog(() => {}) });
    },
    tables,
    rows: (table, partitionKey) => {
      const place = placeOf(table, partitionKey);
      const rows = read.get(place) ?? readRows(tables)(table, partitionKey);
      read.set(place, rows);
      return rows;
    },
    counted: counter.counted,
    now,
    pass: ms => {
      time = plus(time, ms);
    },
  };
}

/** Calls `wrote` after every write, also after one that failed. */
function reportWrites(tables: Tables, wrote: (table: string, partitionKey: string) => void): Tables {
  const reporting = (name: string): Table => {
    const table = tables.table(name);
    const after = <T>(partitionKey: string, write: Promise<T>) => write.finally(() => wrote(name, partitionKey));
    return {
      ...table,
      insert: row => after(row.partitionKey, table.insert(row)),
      replace: (row, etag) => after(row.partitionKey, table.replace(row, etag)),
      merge: (row, etag) => after(row.partitionKey, table.merge(row, etag)),
      upsert: row => after(row.partitionKey, table.upsert(row)),
      remove: (partitionKey, ...which) => after(partitionKey, table.remove(partitionKey, ...which)),
      transact: (partitionKey, actions) => after(partitionKey, table.transact(partitionKey, actions)),
    };
  };
  return { ...tables, table: reporting };
}

function createCounter() {
  let total = 0;
  let depth = 0;
  return {
    policy: {
      position: "perRetry" as const,
      policy: {
        name: "counter",
        async sendRequest<Q, R>(request: Q, next: (request: Q) => Promise<R>): Promise<R> {
          total++;
          const level = depth + 1;
          const response = await next(request);
          depth = Math.max(depth, level);
          return response;
        },
      },
    },
    async counted<T>(work: () => Promise<T>) {
      total = 0;
      depth = 0;
      const result = await work();
      return { result, calls: { total, depth } };
    },
  };
}

export const named = (name: string): UserRef => ({ by: "name", folded: foldUsername(name) });

export const identified = (id: number): UserRef => ({ by: "id", id });

export const username = (name: string) => ({ name, folded: foldUsername(name) });

/** A key as an assignment of an unknown prefix makes it. */
export const plainKey = (prefix: string): NewOtpKey => ({
  prefix,
  enabled: true,
  failures: 0,
  stopped: false,
  form: { state: { counter: 0 } },
});
