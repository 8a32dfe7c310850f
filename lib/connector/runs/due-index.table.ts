import type { Log } from "../../platform/log.ts";
import { changeRows } from "../../platform/tables/row-batches.ts";
import { readOrLog } from "../../platform/tables/row-schema.ts";
import type { Tables } from "../../platform/tables/tables.ts";
import type { Instant, Now } from "../../platform/time.ts";
import type { DueEntry, DueRow } from "../deps.ts";
import type { Due, Lease, Queue } from "../model/request.ts";
import { fromDueRow, toDueColumns } from "../storage/rows.table.ts";

/** Table of the index of due work. */
export const dueTable = "due";

/** The work that is due on a request or on one of its security keys. */
export interface DueWork {
  readonly due: Due;
  readonly requestId: string;
  readonly keyId?: string | undefined;
}

/** Returns the index of due work: one partition for each queue, sorted by time. */
export function dueIndex(tables: Tables, { now, log }: { readonly now: Now; readonly log: Log }) {
  const table = tables.table(dueTable);
  return {
    async add({ due, requestId, keyId }: DueWork): Promise<void> {
      const { queue, at, ...more } = due;
      const columns = toDueColumns({ requestId, writtenAt: now(), ...(keyId && { keyId }), ...more });
      await table.upsert({ partitionKey: queue, rowKey: rowKeyOf({ due, requestId, keyId }), ...columns });
    },

    /** Removes the row, if it exists. */
    async remove(work: DueWork): Promise<void> {
      await table.remove(work.due.queue, rowKeyOf(work));
    },

    async *entries(queue: Queue, until?: Instant, from?: DueEntry): AsyncGenerator<DueRow> {
      const range = {
        ...(until !== undefined && { before: `${until}~` }),
        ...(from !== undefined && { from: rowKeyOf({ due: from, ...from }) }),
      };
      for await (const row of table.query({ partitionKey: queue, ...range })) {
        const entry = await readOrLog(log, () => fromDueRow(row));
        if (entry !== undefined) yield { ...entry, etag: row.etag };
      }
    },

    async lease(rows: readonly DueRow[], lease: Lease): Promise<boolean> {
      const [first] = rows;
      if (first === undefined) return true;
      return (await table.transact(first.queue, rows.map(withLease(lease)))) !== undefined;
    },

    async release(rows: readonly DueRow[]): Promise<void> {
      const [first] = rows;
      if (first !== undefined) await changeRows(table, first.queue, rows.map(withLease(undefined)));
    },
  };
}

/** Returns a function that returns the action that replaces the lease of a row by its ETag. */
const withLease =
  (lease: Lease | undefined) =>
  ({ etag, lease: _, ...entry }: DueRow) => ({
    replace: {
      rowKey: rowKeyOf({ due: entry, ...entry }),
      ...toDueColumns(lease === undefined ? entry : { ...entry, lease }),
    },
    etag,
  });

/**
 * Begins with the time, so that due work is a range at the start of its partition. Ends with the peer: a row that a crash
 * left with another peer is one row too many, and the row that the work is found by keeps its own.
 */
const rowKeyOf = ({ due: { at, peer }, requestId, keyId = "" }: DueWork): string =>
  [at, requestId, keyId, ...(peer === undefined ? [] : [peer])].join("_");
