import { chunksOf } from "../../platform/chunks.ts";
import { isUnavailable } from "../../platform/fault.ts";
import type { Log } from "../../platform/log.ts";
import { omitUndefined } from "../../platform/omit-undefined.ts";
import { conflict, retryOnConflict } from "../../platform/retry-on-conflict.ts";
import { readOrLog } from "../../platform/tables/row-schema.ts";
import type { Action, Tables } from "../../platform/tables/tables.ts";
import { transactionSize } from "../../platform/tables/transaction.ts";
import type { Now } from "../../platform/time.ts";
import type { DueEvents, EventStore, LoadedEvents, LoadedRequest } from "../deps.ts";
import type { CredentialRequest, RequestValues } from "../model/request.ts";
import { dueTable } from "../runs/due-index.table.ts";
import { keyPrefix, type requestRows, requestsTable } from "../storage/request-rows.table.ts";
import { schemaVersion } from "../storage/rows.table.ts";
import { type Delivery, nothingDone, type RecordedEvents } from "./event.ts";
import {
  deliveryKey,
  deliveryPrefix,
  dueEventKey,
  eventKey,
  fromDueEventRow,
  fromEventRows,
  fromSinkRow,
  toDeliveryRow,
  toEventRow,
  toSinkColumns,
} from "./event-rows.table.ts";
import { occurrencesBetween } from "./occurrences.ts";

/** Returns the partition of the index of due events of a sink. */
const partitionOf = (sink: number): string => `events_${sink}`;
/** The partition of the rows with the state of each sink. */
const sinksPartition = "event_sinks";

interface EventOptions {
  /** The numbers of the configured sinks. If empty, no events are recorded. */
  readonly sinks: readonly number[];
  readonly now: Now;
  readonly log: Log;
}

/**
 * Returns the access to the rows of events: the events in the partition of their request, and the index of due events
 * (docs/storage.md).
 * @param requests the rows of the requests
 */
export function eventRows(tables: Tables, requests: ReturnType<typeof requestRows>, { sinks, now, log }: EventOptions) {
  const events = tables.table(requestsTable);
  const index = tables.table(dueTable);

  const addDue = async (sink: number, due: Omit<DueEvents, "writtenAt">): Promise<void> => {
    const { requestId, first } = due;
    const columns = { schema: schemaVersion, requestId, first, writtenAt: now() };
    await index.upsert({ partitionKey: partitionOf(sink), rowKey: dueEventKey(due), ...columns });
  };

  const removeDue = async (sink: number, due: Omit<DueEvents, "writtenAt">): Promise<void> => {
    await index.remove(partitionOf(sink), dueEventKey(due));
  };

  const load = async (requestId: string): Promise<LoadedEvents> => {
    const range = { partitionKey: requestId, from: deliveryPrefix, before: keyPrefix };
    return fromEventRows(await Array.fromAsync(events.query(range)));
  };

  const store: EventStore = {
    async *due(sink, until) {
      for await (const row of index.query({ partitionKey: partitionOf(sink), before: `${until}~` })) {
        const entry = await readOrLog(log, () => fromDueEventRow(row));
        if (entry !== undefined) yield entry;
      }
    },

    load,

    async saveDelivery({ requestId, sink, before }, delivery) {
      const next = dueOf(requestId, delivery);
      if (next !== undefined && next.at !== before?.value.retry?.nextAt) await addDue(sink, next);
      const row = { partitionKey: requestId, ...toDeliveryRow(sink, delivery) };
      let doubt: unknown;
      const write = before === undefined ? events.insert(row) : events.replace(row, before.etag);
      const etag = await write.catch((error: unknown) => {
        if (!isUnavailable(error)) throw error;
        doubt = error;
        return undefined;
      });
      if (etag !== undefined) return { value: delivery, etag };
      // The storage client repeats a write whose response was lost, and the repeat is a conflict with the first write. Only
      // this run writes its lease, so the lease in the row shows that the first write succeeded. Otherwise no run would
      // send the events before the lease expires.
      const stored = delivery.lease || doubt !== undefined ? await events.get(requestId, row.rowKey) : undefined;
      if (doubt !== undefined && stored?.etag === before?.etag) throw doubt;
      return stored?.value === row.value ? { value: delivery, etag: stored.etag } : undefined;
    },

    removeDue,

    async removeStale(sink, entry) {
      const loaded = await requests.load(entry.requestId);
      if (loaded !== undefined) {
        if ((loaded.request.value.events ?? 0) >= entry.first) return;
        if ((await requests.save(loaded, { request: loaded.request.value })) === undefined) return;
      }
      await removeDue(sink, entry);
    },

    async sinkState(sink) {
      const row = await index.get(sinksPartition, String(sink));
      return row === undefined ? {} : fromSinkRow(row);
    },

    changeSinkState: (sink, change) =>
      retryOnConflict(async () => {
        const before = await index.get(sinksPartition, String(sink));
        const after = change(before === undefined ? {} : fromSinkRow(before));
        const row = { partitionKey: sinksPartition, rowKey: String(sink), ...toSinkColumns(after) };
        const etag = await (before === undefined ? index.insert(row) : index.replace(row, before.etag));
        return etag === undefined ? conflict : undefined;
      }),

    async restore(before, after, { recorded: ofBackup, deliveries }) {
      const { id } = after.request;
      const added = eventsOfChange(before, after);
      const recorded = added === undefined ? ofBackup : [...ofBackup, added];
      const rows = [
        ...ofBackup.map(toEventRow),
        ...[...deliveries].map(([sink, { lease, retry, ...delivery }]) => toDeliveryRow(sink, delivery)),
      ];
      const open = openEvents(recorded, deliveries);
      await Promise.all(open.map(({ sink, at, first }) => addDue(sink, { at, requestId: id, first })));
      await transactAll(id, [...rows.map(row => ({ upsert: row })), ...(added ? writesOf(before.request, added) : [])]);
      return added === undefined ? after.request : withEvents(after.request, added);
    },
  };

  const eventsOfChange = (before: RequestValues, after: RequestValues): RecordedEvents | undefined => {
    if (sinks.length === 0) return undefined;
    const occurrences = occurrencesBetween(before, after);
    if (occurrences.length === 0) return undefined;
    const { events: count = 0 } = before.request;
    const shipmentId = after.request.delivery?.shipmentId;
    return omitUndefined({ first: count + 1, at: now(), sinks, shipmentId, events: occurrences });
  };

  const writesOf = ({ eventSinks = [] }: CredentialRequest, recorded: RecordedEvents): readonly Action[] => {
    const added = recorded.sinks.filter(sink => !eventSinks.includes(sink));
    const deliveryRows = added.map(sink => ({ upsert: toDeliveryRow(sink, nothingDone) }));
    return [{ insert: toEventRow(recorded) }, ...deliveryRows];
  };

  const transactAll = async (requestId: string, actions: readonly Action[]): Promise<void> => {
    for (const some of chunksOf(actions, transactionSize)) await events.transact(requestId, some);
  };

  return {
    store,

    /** Returns the events of a change, to be recorded with it; undefined if there are none or no sink is configured. */
    eventsOfChange,

    /**
     * Returns the writes of recorded events of a request: their row, and a delivery row for each sink that has none. So
     * senders only replace rows.
     */
    writesOf,

    /** Writes the index rows of events that are about to be recorded. */
    async addDueRows(requestId: string, { sinks: numbers, at, first }: RecordedEvents): Promise<void> {
      await Promise.all(numbers.map(sink => addDue(sink, { at, requestId, first })));
    },

    /** Removes the events of a request, with their index rows. Makes no call for a request without events. */
    async removeAll({ request: { value } }: LoadedRequest): Promise<void> {
      const { id, events: recordedCount = 0 } = value;
      if (recordedCount === 0) return;
      const { recorded, deliveries } = await load(id);
      const values = new Map([...deliveries].map(([sink, { value }]) => [sink, value]));
      const retries = [...values].flatMap(([sink, delivery]) => {
        const due = dueOf(id, delivery);
        return due === undefined ? [] : [{ sink, ...due }];
      });
      const open = openEvents(recorded, values).map(due => ({ ...due, requestId: id }));
      await Promise.all([...open, ...retries].map(({ sink, ...due }) => removeDue(sink, due)));
      const keys = [...recorded.map(({ first }) => eventKey(first)), ...[...deliveries.keys()].map(deliveryKey)];
      await transactAll(
        id,
        keys.map(rowKey => ({ remove: { rowKey } })),
      );
    },
  };
}

/**
 * Returns the request with the number of its events and the sinks of their deliveries. So changes that record events at
 * the same time conflict.
 */
export const withEvents = (
  { eventSinks = [], ...request }: CredentialRequest,
  { first, events, sinks }: RecordedEvents,
): CredentialRequest => ({
  ...request,
  events: first + events.length - 1,
  eventSinks: [...new Set([...eventSinks, ...sinks])],
});

/** Returns the index row of the next attempt of a delivery; undefined without a retry. */
const dueOf = (requestId: string, { done, retry }: Delivery): Omit<DueEvents, "writtenAt"> | undefined =>
  retry && { at: retry.nextAt, requestId, first: done + 1 };

/** Returns the recorded rows with events that are not done, once for each of their sinks. */
function openEvents(
  recorded: readonly RecordedEvents[],
  deliveries: ReadonlyMap<number, Delivery>,
): readonly { readonly sink: number; readonly at: string; readonly first: number }[] {
  return recorded.flatMap(({ first, at, sinks, events }) =>
    sinks
      .filter(sink => first + events.length - 1 > (deliveries.get(sink)?.done ?? 0))
      .map(sink => ({ sink, at, first })),
  );
}
