import { chunksOf, omitUndefined } from "../../platform/collections.ts";
import type { Log } from "../../platform/log.ts";
import type { Stored } from "../../platform/stored.ts";
import { confirmWrite, isStoredAs } from "../../platform/tables/confirm-write.ts";
import type { Action, Row, Tables } from "../../platform/tables/tables.ts";
import { transactionSize } from "../../platform/tables/transaction.ts";
import type { Now } from "../../platform/time.ts";
import type { RequestValues } from "../model/loaded-request.ts";
import { type CredentialRequest, shipmentIdOf } from "../model/request.ts";
import { keyPrefix, requestRows, requestsTable } from "../storage/request-rows.table.ts";
import { type EventDelivery, eventId, nothingDone, openRows, type RecordedEvents, withEvents } from "./event.ts";
import {
  type DueEvents,
  type DueEventsItem,
  deliveryColumns,
  deliveryKey,
  deliveryPrefix,
  dueEvents,
  eventKey,
  fromEventRows,
  type LoadedEvents,
  openEvents,
  sinkStates,
  toDeliveryRow,
  toEventRow,
} from "./event-rows.table.ts";
import type { EventSink } from "./event-sink.ts";
import { forSinks, namesOf, occurrencesBetween } from "./occurrences.ts";

interface EventOptions {
  /** The configured sinks. If empty, no events are recorded. */
  readonly sinks: readonly Pick<EventSink, "number" | "types">[];
  readonly now: Now;
  readonly log: Log;
}

export type EventStore = ReturnType<typeof eventStore>;

/**
 * Returns the recorded events of requests: in the partition of their request, with an index of due events for each sink
 * (docs/storage.md).
 */
export function eventStore(tables: Tables, { sinks, now, log }: EventOptions) {
  const requests = requestRows(tables);
  const events = tables.table(requestsTable);
  const due = dueEvents(tables, { now, log });

  const load = async (requestId: string): Promise<LoadedEvents> => {
    const range = { partitionKey: requestId, from: deliveryPrefix, before: keyPrefix };
    return fromEventRows(await Array.fromAsync(events.query(range)));
  };

  /** Returns the events of a change; undefined if there are none or no sink is configured. */
  const eventsOfChange = (before: RequestValues, after: RequestValues): RecordedEvents | undefined => {
    if (sinks.length === 0) return undefined;
    const occurrences = occurrencesBetween(before, after);
    if (occurrences.length === 0) return undefined;
    const { eventCount = 0 } = before.request;
    const shipmentId = shipmentIdOf(after.request);
    const names = namesOf(after, occurrences);
    return omitUndefined({ first: eventCount + 1, at: now(), shipmentId, ...names, ...forSinks(occurrences, sinks) });
  };

  const transactAll = async (requestId: string, actions: readonly Action[]): Promise<void> => {
    for (const some of chunksOf(actions, transactionSize)) await events.transact(requestId, some);
  };

  return {
    due: due.entries,

    load,

    /**
     * Writes the state of a delivery, and before it the index row of its next attempt. Returns undefined on a conflict.
     */
    async saveDelivery(
      {
        requestId,
        sink,
        before,
      }: { readonly requestId: string; readonly sink: number; readonly before: Stored<EventDelivery> | undefined },
      delivery: EventDelivery,
    ): Promise<Stored<EventDelivery> | undefined> {
      const next = dueOf(requestId, delivery);
      if (next !== undefined && next.at !== before?.value.retry?.nextAt) await due.add(sink, next);
      const row = { partitionKey: requestId, ...toDeliveryRow(sink, delivery) };
      return confirmWrite(
        async () => {
          const etag = await (before === undefined ? events.insert(row) : events.replace(row, before.version));
          return etag === undefined ? undefined : { value: delivery, version: etag };
        },
        async () => {
          const stored = await events.get(requestId, row.rowKey);
          if (stored === undefined || stored.etag === before?.version) return undefined;
          return isStoredAs(delivery, deliveryColumns.fromRow(stored))
            ? { value: delivery, version: stored.etag }
            : undefined;
        },
      );
    },

    /** Removes an index row whose events are done, or that another row replaces. */
    removeDue: due.remove,

    /**
     * Removes an index row whose events are not recorded, because its writer is between two writes or stopped there.
     * Rewrites the request by its ETag before, so that a writer that still runs gets a conflict.
     */
    async removeStale(sink: number, entry: DueEvents): Promise<void> {
      const loaded = await requests.load(entry.requestId);
      if (loaded !== undefined) {
        if ((loaded.request.eventCount ?? 0) >= entry.first) return;
        if ((await requests.save(loaded, { request: loaded.request })) === undefined) return;
      }
      await due.remove(sink, entry);
    },

    ...sinkStates(tables),

    record(before: RequestValues, after: RequestValues) {
      const recorded = eventsOfChange(before, after);
      if (recorded === undefined) return undefined;
      const { at, first } = recorded;
      return {
        request: withEvents(after.request, recorded),
        addDue: async () => {
          await Promise.all(recorded.sinks.map(sink => due.add(sink, { at, requestId: after.request.id, first })));
        },
        rows: writesOf(before.request, recorded),
      };
    },

    async removeAll({ id, eventCount = 0 }: CredentialRequest): Promise<void> {
      if (eventCount === 0) return;
      const { recorded: all, deliveries } = await load(id);
      // A later event belongs to a change that was saved meanwhile: the caller's write gets a conflict.
      const recorded = all.filter(({ first }) => first <= eventCount);
      const values = valuesIn(deliveries);
      const retries = [...values].flatMap(([sink, delivery]) => {
        const retry = dueOf(id, delivery);
        return retry === undefined ? [] : [{ sink, ...retry }];
      });
      const open = openRows(recorded, values).map(row => ({ ...row, requestId: id }));
      await Promise.all([...open, ...retries].map(({ sink, ...row }) => due.remove(sink, row)));
      const keys = [...recorded.map(({ first }) => eventKey(first)), ...[...deliveries.keys()].map(deliveryKey)];
      await transactAll(
        id,
        keys.map(rowKey => ({ remove: { rowKey } })),
      );
    },

    async undelivered({ id, eventCount = 0 }: CredentialRequest) {
      if (eventCount === 0 || sinks.length === 0) return [];
      const { recorded, deliveries } = await load(id);
      return sinks.flatMap(({ number: sink }) =>
        openEvents(id, { recorded, deliveries }, sink).map(event => ({
          at: event.at,
          fields: { sink, eventId: eventId(event), type: event.type },
        })),
      );
    },

    readBackup(rows: readonly Row[]) {
      const { recorded: ofBackup, deliveries } = fromEventRows(rows);
      return async (before: RequestValues, after: RequestValues): Promise<CredentialRequest> => {
        const { id } = after.request;
        const added = eventsOfChange(before, after);
        const recorded = added === undefined ? ofBackup : [...ofBackup, added];
        const values = valuesIn(deliveries);
        const unleased = [...values].map(([sink, { lease, retry, ...delivery }]) => toDeliveryRow(sink, delivery));
        const open = openRows(recorded, values);
        await Promise.all(open.map(({ sink, at, first }) => due.add(sink, { at, requestId: id, first })));
        await transactAll(id, [
          ...[...ofBackup.map(toEventRow), ...unleased].map(row => ({ upsert: row })),
          ...(added ? writesOf(before.request, added) : []),
        ]);
        return added === undefined ? after.request : withEvents(after.request, added);
      };
    },
  };
}

/**
 * Returns the writes of recorded events of a request: their row, and a delivery row for each sink that has none. So
 * senders only replace rows.
 */
function writesOf({ eventSinks = [] }: CredentialRequest, recorded: RecordedEvents): readonly Action[] {
  const added = recorded.sinks.filter(sink => !eventSinks.includes(sink));
  const deliveryRows = added.map(sink => ({ upsert: toDeliveryRow(sink, nothingDone) }));
  return [{ insert: toEventRow(recorded) }, ...deliveryRows];
}

const valuesIn = (deliveries: LoadedEvents["deliveries"]): ReadonlyMap<number, EventDelivery> =>
  new Map([...deliveries].map(([sink, { value }]) => [sink, value]));

/** Returns the index row of the next attempt of a delivery; undefined without a retry. */
const dueOf = (requestId: string, { done, retry }: EventDelivery): DueEventsItem | undefined =>
  retry && { at: retry.nextAt, requestId, first: done + 1 };
