import * as z from "zod";
import { readOrLog, rowColumns } from "../../platform/azure/row-columns.ts";
import type { Row, Tables } from "../../platform/azure/tables.ts";
import type { Log } from "../../platform/log.ts";
import { type Immutable, storedInstant } from "../../platform/stored.ts";
import type { Instant } from "../../platform/time.ts";
import type { RequestValues } from "../model/loaded-request.ts";
import { type Due, dueSchema } from "../model/request.ts";
import { schemaVersion } from "./request-rows.table.ts";

/** A row by which a request is found: of the index of due work, or of a list. */
export interface IndexRow {
  readonly table: string;
  readonly partitionKey: string;
  readonly rowKey: string;
  /** The only column that may change while the keys stay. */
  readonly notBefore?: Instant | undefined;
  readonly columns: (writtenAt: Instant) => Readonly<Record<string, string | number | boolean>>;
}

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

/**
 * Returns the row of an item in the index of due work: one partition for each queue. Its key begins with the time, so
 * that due work is a range at the start of its partition. It ends with the peer: a row that a crash left with another
 * peer is one row too many, and the row that the work is found by keeps its own.
 */
export const dueRow = ({ due, requestId, keyId }: DueItem): IndexRow => ({
  table: dueTable,
  partitionKey: due.queue,
  rowKey: [due.at, requestId, keyId ?? "", ...(due.peer === undefined ? [] : [due.peer])].join("_"),
  notBefore: due.notBefore,
  columns: writtenAt => dueColumns.toColumns({ ...due, requestId, writtenAt, ...(keyId && { keyId }) }),
});

/** Returns the rows of the work that is due on a request and its security keys. */
export function dueRowsOf({ request, keys }: RequestValues): readonly IndexRow[] {
  const { id: requestId, due, trackDue, replaceDue } = request;
  const ofKeys = keys.map(key => ({ keyId: key.id, due: key.due }));
  return [{ due }, { due: trackDue }, { due: replaceDue }, ...ofKeys].flatMap(({ due, ...item }) =>
    due === undefined ? [] : [dueRow({ due, requestId, ...item })],
  );
}

/** Returns the function that yields the due work of a queue in order of time; up to `until`, if it is given. */
export function dueEntries(tables: Tables, log: Log) {
  const table = tables.table(dueTable);
  return async function* entries(queue: Due["queue"], until?: Instant): AsyncGenerator<DueEntry> {
    const range = until === undefined ? {} : { before: `${until}~` };
    for await (const row of table.query({ partitionKey: queue, ...range })) {
      const entry = await readOrLog(log, () => dueEntryIn(row));
      if (entry !== undefined) yield entry;
    }
  };
}
