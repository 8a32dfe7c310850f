import * as z from "zod";
import type { Stored } from "../../platform/stored.ts";
import { rowColumns } from "../../platform/tables/row-columns.ts";
import { schemaOf, storedInstant } from "../../platform/tables/row-schema.ts";
import type { Row } from "../../platform/tables/tables.ts";
import type { Instant } from "../../platform/time.ts";
import { eventTypes } from "../model/states.ts";
import { leaseSchema, retrySchema, schemaVersion, trackingSchema } from "../storage/request-columns.table.ts";
import { type EventDelivery, endStates, eventsIn, type RecordedEvents, type RequestEvent } from "./event.ts";

/** One row of the index of due events of a sink. */
export interface DueEvents {
  readonly at: Instant;
  readonly requestId: string;
  /** The position of the first event that the row was written for. */
  readonly first: number;
  readonly writtenAt: Instant;
}

/** The recorded events of a request, and the state of their delivery to each sink. */
export interface LoadedEvents {
  readonly recorded: readonly RecordedEvents[];
  readonly deliveries: ReadonlyMap<number, Stored<EventDelivery>>;
}

/** The state of a sink, over all requests. */
export interface SinkState {
  /** The time before which the sink is not called, from its Retry-After. */
  readonly notBefore?: Instant;
  /** The sink answered 410. It is not called until it has another address or an administrator resumes it. */
  readonly stopped?: { readonly at: Instant; readonly address: string };
}

/**
 * Row keys in the partition of a request. All sort before those of its other rows, so that a read of the request leaves
 * them out.
 */
const eventPrefix = "event:";
export const deliveryPrefix = "delivery:";
export const eventKey = (first: number): string => eventPrefix + String(first).padStart(6, "0");
export const deliveryKey = (sink: number): string => deliveryPrefix + sink;

const text = z.string();
const count = z.int();

export const eventColumns = rowColumns<RecordedEvents>({ kind: "event", version: schemaVersion }, () =>
  schemaOf<RecordedEvents>()(
    z.object({
      first: count,
      at: storedInstant,
      sinks: z.array(count),
      shipmentId: text.exactOptional(),
      customerReference: text.exactOptional(),
      externalId: text.exactOptional(),
      tracking: trackingSchema.exactOptional(),
      serials: z.record(z.string(), text).exactOptional(),
      events: z.array(
        z.object({
          sinks: z.array(count).exactOptional(),
          type: z.enum(eventTypes),
          keyId: text.exactOptional(),
          credential: count.exactOptional(),
          idpId: text.exactOptional(),
          mail: count.exactOptional(),
          errorCode: text.exactOptional(),
          state: z.enum(endStates).exactOptional(),
        }),
      ),
    }),
  ),
);

export const deliveryColumns = rowColumns<EventDelivery>({ kind: "delivery", version: schemaVersion }, () =>
  schemaOf<EventDelivery>()(
    z.object({
      done: count,
      deliveredAt: z.record(z.string(), storedInstant),
      givenUp: z.array(count),
      retry: retrySchema.exactOptional(),
      lease: leaseSchema.exactOptional(),
    }),
  ),
);

/** The columns of a row of the index. Its row key begins with the time. */
export const dueEventColumns = rowColumns<DueEvents, "at">(
  { kind: "due event", version: schemaVersion, keyed: ["at"] },
  () => schemaOf<DueEvents>()(z.object({ at: storedInstant, requestId: text, first: count, writtenAt: storedInstant })),
);

export const sinkColumns = rowColumns<SinkState>({ kind: "event sink", version: schemaVersion }, () =>
  schemaOf<SinkState>()(
    z.object({
      notBefore: storedInstant.exactOptional(),
      stopped: z.object({ at: storedInstant, address: text }).exactOptional(),
    }),
  ),
);

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

/** The row key begins with the time, so that due events are a range at the start of the partition of their sink. */
export const dueEventKey = ({ at, requestId, first }: Omit<DueEvents, "writtenAt">): string =>
  `${at}_${requestId}_${first}`;

export const dueEventsIn = (row: Row): DueEvents =>
  dueEventColumns.fromRow(row, { at: row.rowKey.split("_")[0] ?? "" });

/** Returns the events of a request that a sink has not got, in their order. */
export function openEvents(
  requestId: string,
  { recorded, deliveries }: LoadedEvents,
  sink: number,
): readonly RequestEvent[] {
  const done = deliveries.get(sink)?.value.done ?? 0;
  return eventsIn(requestId, recorded).filter(({ sinks, sequence }) => sinks.includes(sink) && sequence > done);
}
