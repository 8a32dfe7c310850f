import pLimit from "p-limit";
import { type RequestStore, requestStore } from "../../lib/connector/storage/requests.table.ts";
import { createLog } from "../../lib/platform/log.ts";
import { openTables } from "../../lib/platform/tables/tables.ts";
import { hours, instant, plus } from "../../lib/platform/time.ts";
import { quantile } from "../auth/load.ts";
import type { BenchHost } from "./system.ts";

/**
 * Fills the storage with requests that have ended, as they lie there for years: at least so many rows of requests and keys, and their
 * rows in the index and in the lists.
 */
export async function addHistory(rows: number, { connectionString }: BenchHost): Promise<void> {
  const now = () => instant(Date.now());
  const tables = openTables({ connectionString, timeoutMs: 60_000 });
  const options = { shipmentsTable: "fprshipments", now, log: createLog(() => {}) };
  const store = requestStore(tables, options);
  const model = await newest(store);
  if (model === undefined) throw new Error("there is no request to make history of");
  const keys = model.keys.map(({ value }) => value);
  const requests = Math.ceil(rows / (1 + keys.length));
  const limit = pLimit(24);
  const add = async (n: number): Promise<void> => {
    const id = `00000000-0000-4000-8000-${String(n).padStart(12, "0")}`;
    const terminalAt = plus(now(), -hours(n + 1));
    const due = { queue: "clean", at: terminalAt } as const;
    const request = { ...model.request.value, id, state: "complete", createdAt: terminalAt, terminalAt, due } as const;
    await store.insert(
      request,
      keys.map(({ due: _, ...key }) => ({ ...key, state: "complete" })),
    );
  };
  await Promise.all(Array.from({ length: requests }, (_, n) => limit(add, n)));
}

/** The median time of reading one request that is not there: what a query of a partition costs beside all other partitions. */
export async function partitionQueryMs({ connectionString }: BenchHost): Promise<number> {
  const requests = openTables({ connectionString, timeoutMs: 60_000 }).table("credentialrequests");
  const times: number[] = [];
  for (let n = 0; n < 50; n++) {
    const began = performance.now();
    for await (const _ of requests.query({ partitionKey: `none${n}` }));
    times.push(performance.now() - began);
  }
  return quantile(times, 0.5);
}

async function newest(store: RequestStore) {
  for await (const { requestId } of store.due("clean")) return store.load(requestId);
  return undefined;
}
