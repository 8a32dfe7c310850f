import * as z from "zod";
import { readOrLog, rowColumns } from "../../platform/azure/row-columns.ts";
import type { Row, Tables } from "../../platform/azure/tables.ts";
import type { Log } from "../../platform/log.ts";
import { type Immutable, type Stored, storedInstant } from "../../platform/stored.ts";
import type { Instant, Now } from "../../platform/time.ts";
import { dueTable } from "../storage/due-index.table.ts";
import { schemaVersion } from "../storage/request-rows.table.ts";
import {
  deliverySchema,
  type EventDelivery,
  eventsIn,
  type LoadedEvents,
  type RecordedEvents,
  recordedEventsSchema,
} from "./event.ts";

/**
 * Row keys in the partition of a request. All sort before those of its other rows, so that a read of the request leaves
 * them out.
 */
const eventPrefix = "event:";
export const deliveryPrefix = "delivery:";
export const eventKey = (first: number): string => eventPrefix + String(first).padStart(6, "0");
export const deliveryKey = (sink: number): string => deliveryPrefix + sink;

export const eventColumns = rowColumns<RecordedEvents>({ kind: "event", version: schemaVersion }, recordedEventsSchema);
export const deliveryColumns = rowColumns<EventDelivery>({ kind: "delivery", version: schemaVersion }, deliverySchema);

export const toEventRow = (recorded: RecordedEvents) => ({
  rowKey: eventKey(recorded.first),
  ...eventColumns.toColumns(recorded),
});

export const toDeliveryRow = (sink: number, delivery: EventDelivery) => ({
  rowKey: deliveryKey(sink),
  ...deliveryColumns.toColumns(delivery),
});

/** Returns the events of a request from the rows of its partition. Other rows are left out. */
export function fromEventRows(rows: readonly Row[]): LoadedEvents {
  const deliveries = new Map<number, Stored<EventDelivery>>();
  const recorded: RecordedEvents[] = [];
  for (const row of rows) {
    if (row.rowKey.startsWith(eventPrefix)) recorded.push(eventColumns.fromRow(row));
    if (!row.rowKey.startsWith(deliveryPrefix)) continue;
    const sink = Number(row.rowKey.slice(deliveryPrefix.length));
    deliveries.set(sink, { value: deliveryColumns.fromRow(row), version: row.etag });
  }
  return { recorded, events: eventsIn(rows[0]?.partitionKey ?? "", recorded), deliveries };
}

const dueSchema = () =>
  z.object({
    sink: z.int(),
    at: storedInstant,
    requestId: z.string(),
    /** The position of the first event that the row was written for. */
    first: z.int(),
    writtenAt: storedInstant,
  });
/** One row of the index of due events. */
export type DueEvents = Immutable<z.output<ReturnType<typeof dueSchema>>>;
export type DueEventsItem = Omit<DueEvents, "writtenAt">;

/** The columns of a row of the index, whose keys have the sink and the time. */
export const dueEventColumns = rowColumns<DueEvents, "sink" | "at">(
  { kind: "due event", version: schemaVersion, keyed: ["sink", "at"] },
  dueSchema,
);

/** Returns the rows of a request's events that are not done: one for each change and sink. */
export const dueOfOpen = (
  requestId: string,
  { recorded, deliveries }: Pick<LoadedEvents, "recorded" | "deliveries">,
): readonly DueEventsItem[] =>
  recorded.flatMap(({ first, at, sinks, events }) => {
    const lastFor = (sink: number) => first + events.findLastIndex(event => (event.sinks ?? sinks).includes(sink));
    const open = sinks.filter(sink => lastFor(sink) > (deliveries.get(sink)?.value.done ?? 0));
    return open.map(sink => ({ sink, at, requestId, first }));
  });

/** Returns the row of the next attempt of a delivery; undefined without a retry. */
export const dueOfRetry = (
  requestId: string,
  sink: number,
  { done, retry }: EventDelivery,
): DueEventsItem | undefined => retry && { sink, at: retry.nextAt, requestId, first: done + 1 };

/** Returns the index of due events: one partition for each sink, sorted by time. */
export function dueEvents(tables: Tables, { now, log }: { readonly now: Now; readonly log: Log }) {
  const table = tables.table(dueTable);
  const partitionOf = (sink: number) => `events_${sink}`;
  const rowKeyOf = ({ at, requestId, first }: DueEventsItem) => `${at}_${requestId}_${first}`;
  return {
    async add(due: DueEventsItem): Promise<void> {
      const columns = dueEventColumns.toColumns({ ...due, writtenAt: now() });
      await table.upsert({ partitionKey: partitionOf(due.sink), rowKey: rowKeyOf(due), ...columns });
    },

    /** Removes the row, if it exists. */
    async remove(due: DueEventsItem): Promise<void> {
      await table.remove(partitionOf(due.sink), rowKeyOf(due));
    },

    /** Returns the events of a sink that are due until a time, the oldest first. Rows that cannot be read are left out. */
    async until(sink: number, until: Instant, limit: number): Promise<readonly DueEvents[]> {
      const found: DueEvents[] = [];
      for await (const row of table.query({ partitionKey: partitionOf(sink), before: `${until}~` })) {
        const at = row.rowKey.split("_")[0] ?? "";
        const due = await readOrLog(log, () => dueEventColumns.fromRow(row, { sink, at }));
        if (due !== undefined && found.push(due) === limit) break;
      }
      return found;
    },
  };
}
