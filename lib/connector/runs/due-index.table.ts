import * as z from "zod";
import type { Log } from "../../platform/log.ts";
import { type Immutable, storedInstant } from "../../platform/stored.ts";
import { changeRows } from "../../platform/tables/row-batches.ts";
import { rowColumns } from "../../platform/tables/row-columns.ts";
import { readOrLog } from "../../platform/tables/row-schema.ts";
import type { Row, Tables } from "../../platform/tables/tables.ts";
import type { Instant, Now } from "../../platform/time.ts";
import { type Due, dueSchema, type Lease, leaseSchema } from "../model/request.ts";
import { schemaVersion } from "../storage/request-rows.table.ts";

/** Table of the index of due work. */
export const dueTable = "due";

const entrySchema = () =>
  dueSchema.extend({
    requestId: z.string(),
    keyId: z.string().exactOptional(),
    writtenAt: storedInstant,
    /**
     * Set by a run that has taken the row, so that other runs leave it out. Only saves them calls: what a run may do is
     * decided by the lease in the row that it points to.
     */
    lease: leaseSchema.exactOptional(),
  });
/** One row of the index of due work. */
export type DueEntry = Immutable<z.output<ReturnType<typeof entrySchema>>>;

/** A row of the index of due work as read. */
export interface DueRow extends DueEntry {
  readonly etag: string;
}

/** The columns of a row. Its partition is the queue, and its row key begins with the time. */
export const dueColumns = rowColumns<DueEntry, "queue" | "at">(
  { kind: "due", version: schemaVersion, keyed: ["queue", "at"] },
  entrySchema,
);

/** Returns the entry in a row. */
export const dueEntryIn = (row: Row): DueEntry =>
  dueColumns.fromRow(row, { queue: row.partitionKey as Due["queue"], at: row.rowKey.split("_")[0] ?? "" });

/** An item of due work: of a request, or of one of its security keys. */
export interface DueItem {
  readonly due: Due;
  readonly requestId: string;
  readonly keyId?: string | undefined;
}

/** Returns the index of due work: one partition for each queue, sorted by time. */
export function dueIndex(tables: Tables, { now, log }: { readonly now: Now; readonly log: Log }) {
  const table = tables.table(dueTable);
  return {
    async add({ due, requestId, keyId }: DueItem): Promise<void> {
      const columns = dueColumns.toColumns({ ...due, requestId, writtenAt: now(), ...(keyId && { keyId }) });
      await table.upsert({ partitionKey: due.queue, rowKey: rowKeyOf({ due, requestId, keyId }), ...columns });
    },

    /** Removes the row, if it exists. */
    async remove(item: DueItem): Promise<void> {
      await table.remove(item.due.queue, rowKeyOf(item));
    },

    /** Yields the due item of a queue in order of time: up to `until` and from the row `from` on, if they are given. */
    async *entries(queue: Due["queue"], until?: Instant, from?: DueEntry): AsyncGenerator<DueRow> {
      const range = {
        ...(until !== undefined && { before: `${until}~` }),
        ...(from !== undefined && { from: rowKeyOf({ due: from, ...from }) }),
      };
      for await (const row of table.query({ partitionKey: queue, ...range })) {
        const entry = await readOrLog(log, () => dueEntryIn(row));
        if (entry !== undefined) yield { ...entry, etag: row.etag };
      }
    },

    /**
     * Writes the lease to rows of one queue, at most 100, in one transaction by the ETags that were read. Returns false on a conflict:
     * no row is changed then.
     */
    async lease(rows: readonly DueRow[], lease: Lease): Promise<boolean> {
      const [first] = rows;
      if (first === undefined) return true;
      return (await table.transact(first.queue, rows.map(withLease(lease)))) !== undefined;
    },

    /** Removes the leases of rows of one queue, except of rows that have changed since they were read. */
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
      ...dueColumns.toColumns(lease === undefined ? entry : { ...entry, lease }),
    },
    etag,
  });

/**
 * Begins with the time, so that due work is a range at the start of its partition. Ends with the peer: a row that a crash
 * left with another peer is one row too many, and the row that the work is found by keeps its own.
 */
const rowKeyOf = ({ due: { at, peer }, requestId, keyId = "" }: DueItem): string =>
  [at, requestId, keyId, ...(peer === undefined ? [] : [peer])].join("_");
