import { isStoredAs } from "../../platform/azure/row-columns.ts";
import type { Action, Tables } from "../../platform/azure/tables.ts";
import { transactionSize } from "../../platform/azure/transaction.ts";
import { chunksOf } from "../../platform/collections.ts";
import type { Log } from "../../platform/log.ts";
import { confirmWrite, type Stored } from "../../platform/stored.ts";
import type { Now } from "../../platform/time.ts";
import type { CredentialRequest } from "../model/request.ts";
import type { RequestEvents } from "../storage/request-rows.table.ts";
import { keyPrefix, requestRows, requestsTable } from "../storage/request-rows.table.ts";
import {
  type EventDelivery,
  eventId,
  type LoadedEvents,
  nothingDone,
  openEvents,
  type RecordedEvents,
  withEvents,
} from "./event.ts";
import {
  type DueEvents,
  deliveryColumns,
  deliveryKey,
  deliveryPrefix,
  dueEvents,
  dueOfOpen,
  dueOfRetry,
  eventKey,
  fromEventRows,
  toDeliveryRow,
  toEventRow,
} from "./event-rows.table.ts";
import type { EventSink } from "./event-sink.ts";
import { eventsOfChange } from "./occurrences.ts";
import { sinkStates } from "./sink-state.table.ts";

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
  const table = tables.table(requestsTable);
  const due = dueEvents(tables, { now, log });

  const load = async (requestId: string): Promise<LoadedEvents> => {
    const range = { partitionKey: requestId, from: deliveryPrefix, before: keyPrefix };
    return fromEventRows(await Array.fromAsync(table.query(range)));
  };

  const transactAll = async (requestId: string, actions: readonly Action[]): Promise<void> => {
    for (const some of chunksOf(actions, transactionSize)) await table.transact(requestId, some);
  };

  const ofRequests: RequestEvents = {
    record(before, after) {
      const recorded = eventsOfChange(before, after, sinks, now());
      if (recorded === undefined) return undefined;
      const { sinks: numbers, at, first } = recorded;
      return {
        request: withEvents(after.request, recorded),
        addDue: async () => {
          await Promise.all(numbers.map(sink => due.add({ sink, at, requestId: after.request.id, first })));
        },
        rows: writesOf(before.request, recorded),
      };
    },

    async removeAll({ id, eventCount = 0 }) {
      if (eventCount === 0) return;
      const { recorded: all, deliveries } = await load(id);
      // A later event belongs to a change that was saved meanwhile: the caller's write gets a conflict.
      const recorded = all.filter(({ first }) => first <= eventCount);
      const retries = [...deliveries].map(([sink, { value }]) => dueOfRetry(id, sink, value));
      const rows = [...dueOfOpen(id, { recorded, deliveries }), ...retries.filter(retry => retry !== undefined)];
      await Promise.all(rows.map(due.remove));
      const keys = [...recorded.map(({ first }) => eventKey(first)), ...[...deliveries.keys()].map(deliveryKey)];
      await transactAll(
        id,
        keys.map(rowKey => ({ remove: { rowKey } })),
      );
    },

    async undelivered({ id, eventCount = 0 }) {
      if (eventCount === 0 || sinks.length === 0) return [];
      const loaded = await load(id);
      return sinks.flatMap(({ number: sink }) =>
        openEvents(loaded, sink).map(event => ({
          at: event.at,
          fields: { sink, eventId: eventId(event), type: event.type },
        })),
      );
    },

    readBackup(rows) {
      const { recorded, deliveries } = fromEventRows(rows);
      return async (before, after) => {
        const { id } = after.request;
        const added = eventsOfChange(before, after, sinks, now());
        const all = added === undefined ? recorded : [...recorded, added];
        const unleased = [...deliveries].map(([sink, { value }]) => {
          const { lease, retry, ...delivery } = value;
          return toDeliveryRow(sink, delivery);
        });
        await Promise.all(dueOfOpen(id, { recorded: all, deliveries }).map(due.add));
        await transactAll(id, [
          ...[...recorded.map(toEventRow), ...unleased].map(row => ({ upsert: row })),
          ...(added ? writesOf(before.request, added) : []),
        ]);
        return added === undefined ? after.request : withEvents(after.request, added);
      };
    },
  };

  return {
    ...ofRequests,
    ...sinkStates(tables),
    load,
    dueUntil: due.until,

    /**
     * Writes the state of a delivery, and before it the index row of its next attempt. Returns undefined on a conflict.
     */
    async saveDelivery(
      requestId: string,
      sink: number,
      before: Stored<EventDelivery> | undefined,
      delivery: EventDelivery,
    ): Promise<Stored<EventDelivery> | undefined> {
      const retry = dueOfRetry(requestId, sink, delivery);
      if (retry !== undefined && retry.at !== before?.value.retry?.nextAt) await due.add(retry);
      const row = { partitionKey: requestId, ...toDeliveryRow(sink, delivery) };
      return confirmWrite(
        async () => {
          const etag = await (before === undefined ? table.insert(row) : table.replace(row, before.version));
          return etag === undefined ? undefined : { value: delivery, version: etag };
        },
        async () => {
          const stored = await table.get(requestId, row.rowKey);
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
    async removeStale(entry: DueEvents): Promise<void> {
      const loaded = await requests.load(entry.requestId);
      if (loaded !== undefined) {
        if ((loaded.request.eventCount ?? 0) >= entry.first) return;
        if ((await requests.save(loaded, { request: loaded.request })) === undefined) return;
      }
      await due.remove(entry);
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
