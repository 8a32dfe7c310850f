import type { Log } from "../../platform/log.ts";
import type { Tables } from "../../platform/tables/tables.ts";
import { between, type Instant, minutes, type Now } from "../../platform/time.ts";
import type { Changes, EventStore, LoadedRequest, RequestStore } from "../deps.ts";
import { eventRows, withEvents } from "../events/events.table.ts";
import type { RequestValues } from "../model/request.ts";
import { listKeyOf } from "../model/request-lists.ts";
import { dueIndex, dueTable } from "../runs/due-index.table.ts";
import { claimsTable } from "./idempotency.table.ts";
import { indexRows } from "./index-rows.table.ts";
import { listsTable, requestLists } from "./lists.table.ts";
import { securityKeysOf } from "./loaded-request.ts";
import { requestRows, requestsTable } from "./request-rows.table.ts";
import { saveOrReadBack } from "./save-or-read-back.table.ts";
import { shipmentRecords } from "./shipment-records.table.ts";

/** Returns the names of the connector's tables. A setting names the table of shipments. */
export const connectorTables = (shipments: string): readonly string[] => [
  requestsTable,
  dueTable,
  claimsTable,
  listsTable,
  shipments,
];

/**
 * A host that is suspended for longer between the index rows of a new request and its rows writes the index rows again: a job may have
 * removed them meanwhile, because they pointed to no request. Less than `dueOrphanMs`.
 */
const maxSuspendedMs = minutes(1);

interface StoreOptions {
  readonly shipmentsTable: string;
  /** The numbers of the event sinks. If empty, no events are recorded. */
  readonly sinks?: readonly number[];
  readonly now: Now;
  readonly log: Log;
}

/** Returns the stores of credential requests and of their events. They keep their index rows (docs/storage.md). */
export function connectorStore(
  tables: Tables,
  { shipmentsTable, sinks = [], now, log }: StoreOptions,
): { readonly requests: RequestStore; readonly events: EventStore } {
  const rows = requestRows(tables);
  const events = eventRows(tables, rows, { sinks, now, log });
  const due = dueIndex(tables, { now, log });
  const lists = requestLists(tables, { now, log });
  const shipments = shipmentRecords(tables, shipmentsTable, rows.load);
  const index = indexRows({ due, lists, shipments });

  const updateShipment = async ({ request: { value } }: LoadedRequest): Promise<void> => {
    const { id, delivery } = value;
    if (delivery?.shipmentId !== undefined) await shipments.update(delivery.shipmentId, id);
  };

  /** Unlinks the shipments that a crash left linked to the request that had rejected them. */
  const unlinkRejected = async ({ request: { value } }: LoadedRequest): Promise<void> => {
    const { shipmentId, rejectedShipmentIds = [] } = value.delivery ?? {};
    for (const rejected of rejectedShipmentIds) if (rejected !== shipmentId) await shipments.unlink(rejected, value.id);
  };

  const requests: RequestStore = {
    async insert(request, keys) {
      // Only a restored request has a shipment. Two requests of a backup can name the same one, if its link changed
      // while the backup was made: the first of them keeps it.
      let addedAt: Instant;
      do {
        addedAt = now();
        await index.add(undefined, { request, keys });
      } while (between(addedAt, now()) > maxSuspendedMs);
      return rows.insert(request, keys);
    },

    load: rows.load,

    async save(loaded, changes, { isUrgent = false, throwsInDoubt = false } = {}) {
      const before = valuesOf(loaded);
      const recorded = events.eventsOfChange(before, changed(before, changes));
      const { request = before.request } = changes;
      const all = recorded === undefined ? changes : { ...changes, request: withEvents(request, recorded) };
      const after = changed(before, all);
      const [isLinked] = await Promise.all([
        index.add(before, after),
        recorded && events.addDueRows(after.request.id, recorded),
      ]);
      if (!isLinked) return undefined;
      const more = recorded && events.writesOf(before.request, recorded);
      const saved = await (throwsInDoubt ? rows.save(loaded, all, more) : saveOrReadBack(rows, loaded, all, more));
      if (saved === undefined) return undefined;
      // The change is saved already. An error would tell the caller that it is not.
      const logLeft = (error: unknown) => log.warn("index_row_left", { credentialRequestId: after.request.id, error });
      try {
        // Comes before the removal of the former index rows: after a crash in between, the job that removes them updates
        // the record of the shipment, or unlinks it.
        await index.updateShipment(before, after);
        const removal = index.removeFormer(before, after);
        if (isUrgent) removal.catch(logLeft);
        else await removal;
      } catch (error) {
        logLeft(error);
      }
      return saved;
    },

    async remove(loaded, foundBy) {
      const values = valuesOf(loaded);
      await index.removeOthers(values, foundBy);
      await events.removeAll(loaded);
      await rows.remove(loaded);
      await index.removeFound(values, foundBy);
    },

    due: due.entries,
    leaseDue: due.lease,
    releaseDue: due.release,
    entries: lists.entries,

    async removeStale(row, loaded) {
      const isDueRow = "queue" in row;
      if (loaded !== undefined) {
        const { request, keys } = valuesOf(loaded);
        const key = isDueRow ? keys.find(({ id }) => id === row.keyId) : undefined;
        const current = (key ?? request).due;
        if (!isDueRow) await lists.enter(listKeyOf(request), [{ state: request.state }]);
        else if (current !== undefined) await due.add({ due: current, requestId: request.id, keyId: key?.id });
        const rewritten = await rows.save(loaded, key === undefined ? { request } : { keys: [key] });
        if (rewritten === undefined) return;
        if (isDueRow) {
          await updateShipment(rewritten);
          await unlinkRejected(rewritten);
        }
      }
      if (isDueRow) await due.remove({ due: row, requestId: row.requestId, keyId: row.keyId });
      else await lists.leave(row, [row.list]);
    },

    findShipment: async shipmentId => (await shipments.find(shipmentId))?.value,
    requestOfShipment: async shipmentId => (await shipments.find(shipmentId))?.value.requestId,
    updateShipment,
  };
  return { requests, events: events.store };
}

const valuesOf = (loaded: LoadedRequest): RequestValues => ({
  request: loaded.request.value,
  keys: securityKeysOf(loaded),
});

const changed = (before: RequestValues, { request = before.request, keys = [] }: Changes): RequestValues => ({
  request,
  keys: before.keys.map(key => keys.find(({ id }) => id === key.id) ?? key),
});
