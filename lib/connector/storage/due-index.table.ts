import * as z from "zod";
import type { Log } from "../../platform/log.ts";
import { type Immutable, storedInstant } from "../../platform/stored.ts";
import { readOrLog, rowColumns } from "../../platform/tables/row-columns.ts";
import type { Row, Tables } from "../../platform/tables/tables.ts";
import type { Instant, Now } from "../../platform/time.ts";
import { type Due, dueSchema } from "../model/request.ts";
import { schemaVersion } from "./request-rows.table.ts";

/** Table of the index of due work. */
export const dueTable = "due";

const entrySchema = () =>
  dueSchema.extend({
    requestId: z.string(),
    keyId: z.string().exactOptional(),
    writtenAt: storedInstant,
  });
/** One row of the index of due work. */
export type DueEntry = Immutable<z.output<ReturnType<typeof entrySchema>>>;

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

    /** Yields the due work of a queue in order of time; up to `until`, if it is given. */
    async *entries(queue: Due["queue"], until?: Instant): AsyncGenerator<DueEntry> {
      const range = until === undefined ? {} : { before: `${until}~` };
      for await (const row of table.query({ partitionKey: queue, ...range })) {
        const entry = await readOrLog(log, () => dueEntryIn(row));
        if (entry !== undefined) yield entry;
      }
    },
  };
}

/**
 * Begins with the time, so that due work is a range at the start of its partition. Ends with the peer: a row that a
 * crash left with another peer is one row too many, and the row that the work is found by keeps its own.
 */
const rowKeyOf = ({ due: { at, peer }, requestId, keyId = "" }: DueItem): string =>
  [at, requestId, keyId, ...(peer === undefined ? [] : [peer])].join("_");
