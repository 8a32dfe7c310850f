import * as z from "zod";
import type { Log } from "../../platform/log.ts";
import { type Immutable, storedInstant } from "../../platform/stored.ts";
import { readOrLog, rowColumns } from "../../platform/tables/row-columns.ts";
import type { Row, Tables } from "../../platform/tables/tables.ts";
import type { Instant, Now } from "../../platform/time.ts";
import { dueTable } from "../storage/due-index.table.ts";
import { schemaVersion } from "../storage/request-rows.table.ts";

const entrySchema = () =>
  z.object({
    at: storedInstant,
    requestId: z.string(),
    /** The position of the first event that the row was written for. */
    first: z.int(),
    writtenAt: storedInstant,
  });
/** One row of the index of due events of a sink. */
export type DueEvents = Immutable<z.output<ReturnType<typeof entrySchema>>>;
export type DueEventsItem = Omit<DueEvents, "writtenAt">;

/** The columns of a row of the index. Its row key begins with the time. */
export const dueEventColumns = rowColumns<DueEvents, "at">(
  { kind: "due event", version: schemaVersion, keyed: ["at"] },
  entrySchema,
);

/** Returns the index of due events: one partition for each sink, sorted by time. */
export function dueEvents(tables: Tables, { now, log }: { readonly now: Now; readonly log: Log }) {
  const table = tables.table(dueTable);
  return {
    async add(sink: number, due: DueEventsItem): Promise<void> {
      const columns = dueEventColumns.toColumns({ ...due, writtenAt: now() });
      await table.upsert({ partitionKey: partitionOf(sink), rowKey: rowKeyOf(due), ...columns });
    },

    /** Removes the row, if it exists. */
    async remove(sink: number, due: DueEventsItem): Promise<void> {
      await table.remove(partitionOf(sink), rowKeyOf(due));
    },

    /** Yields the due events of a sink in order of time up to `until`. */
    async *entries(sink: number, until: Instant): AsyncGenerator<DueEvents> {
      for await (const row of table.query({ partitionKey: partitionOf(sink), before: `${until}~` })) {
        const entry = await readOrLog(log, () => dueEventsIn(row));
        if (entry !== undefined) yield entry;
      }
    },
  };
}

const partitionOf = (sink: number): string => `events_${sink}`;

/** The row key begins with the time, so that due events are a range at the start of the partition of their sink. */
const rowKeyOf = ({ at, requestId, first }: DueEventsItem): string => `${at}_${requestId}_${first}`;

const dueEventsIn = (row: Row): DueEvents => dueEventColumns.fromRow(row, { at: row.rowKey.split("_")[0] ?? "" });
