import { randomBytes } from "node:crypto";
import { setTimeout as wait } from "node:timers/promises";
import { createKeyedHash } from "../../../lib/auth/keyed-hash.ts";
import { authStore } from "../../../lib/auth/store.table.ts";
import type { NewOtpKey } from "../../../lib/auth/store.ts";
import { authTables, type StorageDeps } from "../../../lib/auth/tables.table.ts";
import { foldUsername, type UserRef } from "../../../lib/auth/users/username.ts";
import { openTables, type Tables } from "../../../lib/platform/azure/tables.ts";
import { createLog } from "../../../lib/platform/log.ts";
import { instant, plus } from "../../../lib/platform/time.ts";
import { freshStorage, storageTimeoutMs } from "../storage/fresh-storage.ts";

export type AuthStorage = Awaited<ReturnType<typeof openAuthStorage>>;

const pepper = { version: "1", key: new Uint8Array(32).fill(9) };

/** Hashes as every store of these tests does. */
const testKeyedHash = createKeyedHash({ current: async () => pepper });

/** What a store needs besides its tables. */
export const storageDeps: StorageDeps = {
  now: () => instant(Date.now()),
  random: size => new Uint8Array(randomBytes(size)),
  sleep: ms => wait(ms),
  log: createLog(() => {}),
  keyedHash: testKeyedHash,
};

/** A store of its own in real storage. */
export async function openAuthStorage() {
  const { connectionString } = freshStorage();
  const counter = createCounter();
  const open = () => openTables({ connectionString, timeoutMs: storageTimeoutMs, policies: [counter.policy] });
  const tables = open();
  await Promise.all(authTables.map(name => tables.createTable(name)));
  let time = instant(Date.UTC(2026, 10, 21, 12, 30));
  let ticks = 0;
  // Every look at the clock is a little later, as two moments are.
  const now = () => plus(time, ticks++ % 1000);
  const on = (some: Tables, aheadMs = 0) => authStore(some, { ...storageDeps, now: () => plus(now(), aheadMs) });
  return {
    store: on(tables),
    /** Another host's, on the same storage. */
    another: () => on(open()),
    /** On these tables, by the same clock or one that is ahead. */
    on,
    /** One whose clock stands still and who draws each id of a user four times. */
    fixed: () => {
      const at = now();
      let drawn = 0;
      const random = (bytes: number) =>
        bytes === 2 ? new Uint8Array(bytes).fill(Math.floor(drawn++ / 4)) : storageDeps.random(bytes);
      return authStore(tables, { ...storageDeps, now: () => at, random });
    },
    tables,
    /** Returns the rows of a partition. */
    rows: (table: string, partitionKey: string) => Array.fromAsync(tables.table(table).query({ partitionKey })),
    counted: counter.counted,
    now,
    /** Moves the clock. */
    pass: (ms: number) => {
      time = plus(time, ms);
    },
  };
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
    /**
     * Counts the storage calls of `work`, retries too: all of them, and the longest chain in which each had to wait for the one
     * before. Nothing else may be under way.
     */
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
  parameters: { state: { counter: 0 } },
});
