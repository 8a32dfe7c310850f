import * as z from "zod";
import { type Stored, storedInstant } from "../../platform/stored.ts";
import { rowColumns, schemaOf } from "../../platform/tables/row-columns.ts";
import type { Row } from "../../platform/tables/tables.ts";
import { leaseSchema, replacesSchema, trackingSchema } from "../model/request.ts";
import { retrySchema } from "../model/retry.ts";
import { eventTypes } from "../model/states.ts";
import { schemaVersion } from "../storage/request-rows.table.ts";
import {
  deliveryFailures,
  type EventDelivery,
  endStates,
  eventsIn,
  type RecordedEvents,
  type RequestEvent,
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
          state: z.enum([...endStates, ...deliveryFailures]).exactOptional(),
          replaces: replacesSchema.exactOptional(),
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
