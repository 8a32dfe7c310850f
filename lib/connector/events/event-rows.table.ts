import type { Stored } from "../../platform/stored.ts";
import { rowColumns } from "../../platform/tables/row-columns.ts";
import type { Row } from "../../platform/tables/tables.ts";
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
