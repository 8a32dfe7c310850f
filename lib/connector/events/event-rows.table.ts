import * as z from "zod";
import type { Log } from "../../platform/log.ts";
import { conflict, type Immutable, retryOnConflict, type Stored, storedInstant } from "../../platform/stored.ts";
import { readOrLog, rowColumns } from "../../platform/tables/row-columns.ts";
import type { Row, Tables } from "../../platform/tables/tables.ts";
import type { Instant, Now } from "../../platform/time.ts";
import { dueTable } from "../storage/due-index.table.ts";
import { schemaVersion } from "../storage/request-rows.table.ts";
import {
  deliverySchema,
  type EventDelivery,
  eventsIn,
  type RecordedEvents,
  type RequestEvent,
  recordedEventsSchema,
} from "./event.ts";

/** The recorded events of a request, and the state of their delivery to each sink. */
export interface LoadedEvents {
  readonly recorded: readonly RecordedEvents[];
  readonly deliveries: ReadonlyMap<number, Stored<EventDelivery>>;
}

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
  return { recorded, deliveries };
}

/** Returns the events of a request that a sink has not got, in their order. */
export function openEvents(
  requestId: string,
  { recorded, deliveries }: LoadedEvents,
  sink: number,
): readonly RequestEvent[] {
  const done = deliveries.get(sink)?.value.done ?? 0;
  return eventsIn(requestId, recorded).filter(({ sinks, sequence }) => sinks.includes(sink) && sequence > done);
}

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

const stateSchema = () =>
  z.object({
    /** The time before which the sink is not called, from its Retry-After. */
    notBefore: storedInstant.exactOptional(),
    /** The sink answered 410. It is not called until it has another address or an administrator resumes it. */
    stopped: z.object({ at: storedInstant, address: z.string() }).exactOptional(),
    /** The last failed call, also after an accepted one, and how many calls have failed since. */
    failure: z.object({ at: storedInstant, message: z.string(), attempts: z.int().nonnegative() }).exactOptional(),
  });
/** The state of a sink, over all requests. */
export type SinkState = Immutable<z.output<ReturnType<typeof stateSchema>>>;

export const sinkColumns = rowColumns<SinkState>({ kind: "event sink", version: schemaVersion }, stateSchema);

/** The partition of the rows with the state of each sink. */
const partitionKey = "event_sinks";

/** Returns the states of the event sinks. */
export function sinkStates(tables: Tables) {
  const table = tables.table(dueTable);
  return {
    async sinkState(sink: number): Promise<SinkState> {
      const row = await table.get(partitionKey, String(sink));
      return row === undefined ? {} : sinkColumns.fromRow(row);
    },

    /** Writes the state that `change` returns, unless it is the same object. Repeats the change on a conflict. */
    changeSinkState: (sink: number, change: (before: SinkState) => SinkState): Promise<void> =>
      retryOnConflict(async () => {
        const before = await table.get(partitionKey, String(sink));
        const state = before === undefined ? {} : sinkColumns.fromRow(before);
        const after = change(state);
        if (after === state) return undefined;
        const row = { partitionKey, rowKey: String(sink), ...sinkColumns.toColumns(after) };
        const etag = await (before === undefined ? table.insert(row) : table.replace(row, before.etag));
        return etag === undefined ? conflict : undefined;
      }),
  };
}
