import * as z from "zod";
import { checkVersion, jsonColumn, parseRow, schemaOf, storedInstant } from "../../platform/tables/row-schema.ts";
import type { Row } from "../../platform/tables/tables.ts";
import type { DueEvents, LoadedEvents, SinkState, Stored } from "../deps.ts";
import { leaseSchema, retrySchema } from "../storage/row-schemas.table.ts";
import { schemaVersion } from "../storage/rows.table.ts";
import { type Delivery, endStates, eventTypes, type RecordedEvents } from "./event.ts";

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

const recordedSchema = z.lazy(() =>
  schemaOf<RecordedEvents>()(
    z.object({
      first: count,
      at: storedInstant,
      sinks: z.array(count),
      shipmentId: text.exactOptional(),
      events: z.array(
        z.object({
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

const deliverySchema = z.lazy(() =>
  schemaOf<Delivery>()(
    z.object({
      done: count,
      deliveredAt: z.record(z.string(), storedInstant),
      givenUp: z.array(count),
      retry: retrySchema.exactOptional(),
      lease: leaseSchema.exactOptional(),
    }),
  ),
);

const dueSchema = schemaOf<DueEvents>()(
  z.object({ at: storedInstant, requestId: text, first: count, writtenAt: storedInstant }),
);

const sinkSchema = z.lazy(() =>
  schemaOf<SinkState>()(
    z.object({
      notBefore: storedInstant.exactOptional(),
      stopped: z.object({ at: storedInstant, address: text }).exactOptional(),
    }),
  ),
);

/** Returns the columns of a row whose values are in one column of JSON. */
const toColumns = (value: object) => ({ schema: schemaVersion, value: JSON.stringify(value) });

const fromColumns = <T>(kind: string, row: Row, schema: z.ZodType<T>): T => {
  checkVersion(kind, row, schemaVersion);
  return parseRow(kind, row, schema, jsonColumn(kind, row, "value"));
};

export const toEventRow = (recorded: RecordedEvents) => ({ rowKey: eventKey(recorded.first), ...toColumns(recorded) });

export const toDeliveryRow = (sink: number, delivery: Delivery) => ({
  rowKey: deliveryKey(sink),
  ...toColumns(delivery),
});

/** Returns the events of a request from the rows of its partition. Other rows are left out. */
export function fromEventRows(rows: readonly Row[]): LoadedEvents {
  const deliveries = new Map<number, Stored<Delivery>>();
  const recorded: RecordedEvents[] = [];
  for (const row of rows) {
    if (row.rowKey.startsWith(eventPrefix)) recorded.push(fromColumns("event", row, recordedSchema));
    if (!row.rowKey.startsWith(deliveryPrefix)) continue;
    const sink = Number(row.rowKey.slice(deliveryPrefix.length));
    deliveries.set(sink, { value: fromColumns("delivery", row, deliverySchema), etag: row.etag });
  }
  return { recorded, deliveries };
}

/** The row key begins with the time, so that due events are a range at the start of the partition of their sink. */
export const dueEventKey = ({ at, requestId, first }: Omit<DueEvents, "writtenAt">): string =>
  `${at}_${requestId}_${first}`;

export function fromDueEventRow(row: Row): DueEvents {
  checkVersion("due event", row, schemaVersion);
  const [at = ""] = row.rowKey.split("_");
  const { requestId, first, writtenAt } = row;
  return parseRow("due event", row, dueSchema, { at, requestId, first, writtenAt });
}

export const toSinkColumns = toColumns;
export const fromSinkRow = (row: Row): SinkState => fromColumns("event sink", row, sinkSchema);
