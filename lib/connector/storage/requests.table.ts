import type { Fault } from "../../platform/fault.ts";
import type { Log } from "../../platform/log.ts";
import type { Tables } from "../../platform/tables/tables.ts";
import { between, type Instant, minutes, type Now } from "../../platform/time.ts";
import { claimsTable } from "../create/claims.table.ts";
import { type Changes, type LoadedRequest, withChanges } from "../model/loaded-request.ts";
import type { CredentialRequest } from "../model/request.ts";
import { listKeyOf, listsOf, type RequestList } from "../model/request-lists.ts";
import { isOnSite, type SecurityKey } from "../model/security-key.ts";
import { newDeliveryState } from "../model/shipment.ts";
import { type DueEntry, dueIndex, dueTable } from "./due-index.table.ts";
import { dueItemsOf, indexRows, newLists } from "./index-rows.table.ts";
import { type ListedEntry, listsTable, requestLists } from "./lists.table.ts";
import type { RequestEvents } from "./request-events.table.ts";
import { requestRows, requestsTable } from "./request-rows.table.ts";
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
 * A host that is suspended for longer between the index rows of a new request and its rows writes the index rows again:
 * a job may have removed them meanwhile, because they pointed to no request. Less than `orphanRowMs`.
 */
const maxSuspendedMs = minutes(1);

interface StoreOptions {
  readonly shipmentsTable: string;
  /** Absent if no events are recorded. */
  readonly events?: RequestEvents;
  readonly now: Now;
  readonly log: Log;
}

interface SaveOptions {
  /** Returns before the former index rows are removed. */
  readonly isUrgent?: boolean;
  /** Called if storage did not answer the write, which may have been made late then. */
  readonly onDoubt?: (error: Fault) => void;
}

/** The credential requests, with the rows that index them. */
export type RequestStore = ReturnType<typeof requestStore>;

/**
 * Returns the credential requests. They keep their index rows: the due work, the lists and the records of shipments.
 * New ones are written before the rows of the request and former ones removed after, so that a crash leaves a row too
 * many and never one too few (C15, C19, docs/storage.md).
 */
export function requestStore(tables: Tables, { shipmentsTable, events, now, log }: StoreOptions) {
  const rows = requestRows(tables);
  const due = dueIndex(tables, { now, log });
  const lists = requestLists(tables, { now, log });
  const shipments = shipmentRecords(tables, shipmentsTable, rows.load);
  const index = indexRows({ due, lists, shipments });

  /** Copies the current status of a request to the record of its shipment. */
  const updateShipment = async ({ request: { id, delivery } }: LoadedRequest): Promise<void> => {
    if (delivery?.shipment !== undefined) await shipments.update(delivery.shipment.id, id);
  };

  /** Unlinks the shipments that a crash left linked to the request that had rejected them. */
  const unlinkRejected = async ({ request: { id, delivery } }: LoadedRequest): Promise<void> => {
    const { shipment, rejectedShipmentIds = [] } = delivery ?? {};
    for (const rejected of rejectedShipmentIds) if (rejected !== shipment?.id) await shipments.unlink(rejected, id);
  };

  return {
    /** Inserts all rows in one transaction, or returns the stored request. Links its shipment if no other has it. */
    async insert(request: CredentialRequest, keys: readonly SecurityKey[]): Promise<LoadedRequest> {
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

    /**
     * Replaces the given rows in one transaction, each by the ETag that was read. Links a new shipment id to the
     * request. Returns the current request; undefined on a conflict, also if the shipment is linked to another request.
     * No row is replaced then. Succeeds also if only the response to the write was lost. A failure to remove the former
     * index rows is only logged. A request that is archived leaves its lists before the write, because the rows do not
     * have the names of the recipient after it.
     */
    async save(
      loaded: LoadedRequest,
      changes: Changes,
      { isUrgent = false, onDoubt }: SaveOptions = {},
    ): Promise<LoadedRequest | undefined> {
      const recorded = events?.record(loaded, withChanges(loaded, changes));
      const all = recorded === undefined ? changes : { ...changes, request: recorded.request };
      const after = withChanges(loaded, all);
      const [isLinked] = await Promise.all([index.add(loaded, after), recorded?.addDue()]);
      if (!isLinked) return undefined;
      const hasLeftLists = after.request.isArchived === true && loaded.request.isArchived !== true;
      if (hasLeftLists) await index.leaveFormer(loaded, after);
      const saved = await rows.save(loaded, all, recorded?.rows, onDoubt);
      if (saved === undefined) {
        // The request may have been deleted meanwhile: nothing would remove it from the lists that it was added to now.
        const isChanged = hasLeftLists || newLists(loaded, after).length > 0;
        const current = isChanged ? await rows.load(after.request.id) : undefined;
        if (isChanged && current === undefined) await index.removeFormer(after, loaded);
        else if (hasLeftLists && current !== undefined) await index.add(undefined, current);
        return undefined;
      }
      const { id, state, delivery } = after.request;
      if (state !== loaded.request.state)
        log.info("request_state", { credentialRequestId: id, state, from: loaded.request.state });
      const changed = newDeliveryState(loaded.request, after.request);
      if (changed !== undefined) {
        const count = after.keys.filter(key => !isOnSite(key)).length;
        const fields = { credentialRequestId: id, shipmentId: delivery?.shipment?.id, state: changed, keys: count };
        log[changed === "lost" || changed === "exception" ? "error" : "info"]("delivery_state", fields);
      }
      // The change is saved already. An error would report the opposite to the caller.
      const logLeft = (error: unknown) => log.warn("index_row_left", { credentialRequestId: id, error });
      try {
        // Comes before the removal of the former index rows: after a crash in between, the job that removes them
        // updates the record of the shipment, or unlinks it.
        await index.updateShipment(loaded, after);
        const removal = index.removeFormer(loaded, after, { hasLeftLists });
        if (isUrgent) removal.catch(logLeft);
        else await removal;
      } catch (error) {
        logLeft(error);
      }
      return saved;
    },

    /**
     * Deletes the rows of a request. The index rows by which the caller finds the request are removed last: its due
     * work and, in an erasure, its entry in a list. Returns false if the request was changed meanwhile: then it is
     * kept.
     * @param foundBy set in an erasure: the list by which the request was found
     */
    async remove(loaded: LoadedRequest, foundBy?: RequestList): Promise<boolean> {
      await index.removeOthers(loaded, foundBy);
      await events?.removeAll(loaded.request);
      if (!(await rows.remove(loaded))) {
        const kept = await rows.load(loaded.request.id);
        if (kept !== undefined) await index.add(undefined, kept);
        return false;
      }
      await index.removeFound(loaded, foundBy);
      return true;
    },

    due: due.entries,
    entries: lists.entries,
    allEntries: (list: RequestList) => lists.allEntries(list),

    /**
     * Removes an index row that does not match its request, because its writer is between two writes or stopped there.
     * The request is rewritten by its ETag before, so that a writer that still runs gets a conflict. Does nothing if
     * the request has changed meanwhile.
     * @param loaded undefined if there is no such request
     */
    async removeStale(row: DueEntry | ListedEntry, loaded: LoadedRequest | undefined): Promise<void> {
      const isDueRow = "queue" in row;
      if (loaded !== undefined) {
        const { request, keys } = loaded;
        const key = isDueRow ? keys.find(({ id }) => id === row.keyId) : undefined;
        const current = dueItemsOf(loaded).filter(({ keyId }) => keyId === key?.id);
        if (isDueRow) await Promise.all(current.map(due.add));
        else
          await lists.enter(
            listKeyOf(request),
            listsOf(loaded).filter(list => "state" in list),
          );
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

    findShipment: async (shipmentId: string) => (await shipments.find(shipmentId))?.value,
    requestOfShipment: async (shipmentId: string) => (await shipments.find(shipmentId))?.value.requestId,
    updateShipment,
  };
}
