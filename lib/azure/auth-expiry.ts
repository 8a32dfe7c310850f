import type { Instant } from "../time.ts";
import { schemaVersion } from "./auth-rows.ts";
import type { Shelves } from "./auth-shelves.ts";
import type { Entity, Table } from "./tables.ts";

/** What ends at a time of its own, one queue each. Sessions are not among them: their partitions are hours. */
export const queues = ["throttle", "address", "spentotp"] as const;
export type Queue = (typeof queues)[number];

/** A row that says in `ends` when it may go. */
type Ending = Entity & { readonly ends: Instant };

export const tableOf = ({ users, addresses, spentOtps }: Shelves, queue: Queue): Table =>
  ({ throttle: users, address: addresses, spentotp: spentOtps })[queue];

/** A row in the order of expiry: whoever cleans up then looks at the row that it names. */
const orderRow = (queue: Queue, { partitionKey, rowKey, ends }: Ending) => ({
  partitionKey: queue,
  rowKey: `${ends}_${partitionKey}_${rowKey}`,
  schema: schemaVersion,
  partition: partitionKey,
  row: rowKey,
});

/** Side by side with its place in the order of expiry. @returns the etag; undefined where the row exists */
export async function insertEnding(shelves: Shelves, queue: Queue, row: Ending): Promise<string | undefined> {
  const [etag] = await Promise.all([tableOf(shelves, queue).insert(row), shelves.expiry.upsert(orderRow(queue, row))]);
  return etag;
}

/** Replaced by version, or inserted where none was read. A row once in the order stays in it until it goes. */
export const saveEnding = (
  shelves: Shelves,
  queue: Queue,
  row: Ending,
  version: string | undefined,
): Promise<string | undefined> =>
  version === undefined ? insertEnding(shelves, queue, row) : tableOf(shelves, queue).replace(row, version);

/** An OTP that others check is inserted under its key before they are asked (decision A8). */
export const spendOnce = async (shelves: Shelves, prefix: string, otpHash: string, ends: Instant): Promise<boolean> =>
  (await insertEnding(shelves, "spentotp", {
    partitionKey: prefix,
    rowKey: otpHash,
    schema: schemaVersion,
    ends,
  })) !== undefined;

/** Removes what ended. @returns how many rows */
export async function cleanUpQueue(shelves: Shelves, queue: Queue, signal: AbortSignal | undefined): Promise<number> {
  const { expiry, now } = shelves;
  const table = tableOf(shelves, queue);
  let removed = 0;
  for await (const order of expiry.query({ partitionKey: queue, before: now() })) {
    if (signal?.aborted) break;
    const row = await table.get(String(order.partition), String(order.row));
    const ends = String(row?.ends);
    if (row !== undefined && ends > now()) {
      await expiry.upsert(orderRow(queue, { partitionKey: row.partitionKey, rowKey: row.rowKey, ends }));
    } else if (row !== undefined) {
      if (!(await table.remove(row.partitionKey, row.rowKey, row.etag))) continue;
      removed += 1;
    }
    await expiry.remove(queue, order.rowKey);
  }
  return removed;
}
