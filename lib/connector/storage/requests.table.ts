import type { Tables } from "../../platform/azure/tables.ts";
import type { Fault } from "../../platform/fault.ts";
import type { Log } from "../../platform/log.ts";
import { between, type Instant, minutes, type Now } from "../../platform/time.ts";
import { claimsTable } from "../create/claims.table.ts";
import { type Changes, type LoadedRequest, type RequestValues, withChanges } from "../model/loaded-request.ts";
import type { CredentialRequest } from "../model/request.ts";
import { listKeyOf, listsOf, listsWithout, type RequestList } from "../model/request-lists.ts";
import { isOnSite, type SecurityKey } from "../model/security-key.ts";
import { newDeliveryState } from "../model/shipment.ts";
import { requestStates } from "../model/states.ts";
import { type DueEntry, dueEntries, dueRow, dueRowsOf, dueTable } from "./due-index.table.ts";
import { indexChange, indexRowsOf, indexWriter, isDueRow } from "./index-rows.table.ts";
import { type ListedEntry, listRow, listsTable, requestLists } from "./lists.table.ts";
import type { RequestEvents } from "./request-rows.table.ts";
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
  const index = indexWriter(tables, now);
  const lists = requestLists(tables, log);
  const shipments = shipmentRecords(tables, shipmentsTable, rows.load);

  /** Writes all index rows of a request, and links its shipment if no other request has it. */
  const putIndexRows = (values: RequestValues) =>
    Promise.all([shipments.linkNew(undefined, values), index.put(indexRowsOf(values))]);

  return {
    /** Inserts all rows in one transaction, or returns the stored request. Links its shipment if no other has it. */
    async insert(request: CredentialRequest, keys: readonly SecurityKey[]): Promise<LoadedRequest> {
      // Only a restored request has a shipment. Two requests of a backup can name the same one, if its link changed
      // while the backup was made: the first of them keeps it.
      let addedAt: Instant;
      do {
        addedAt = now();
        await putIndexRows({ request, keys });
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
      const { added, former } = indexChange(loaded, after);
      const linked = shipments.linkNew(loaded, after);
      const [isLinked] = await Promise.all([linked, index.put(added), recorded?.addDue()]);
      if (!isLinked) return undefined;
      const isArchiving = after.request.isArchived === true && loaded.request.isArchived !== true;
      if (isArchiving) await index.remove(former.filter(row => !isDueRow(row)));
      const saved = await rows.save(loaded, all, recorded?.rows, onDoubt);
      if (saved === undefined) {
        // The request may have been deleted meanwhile: nothing would remove it from the lists that it was added to now.
        const isListed = isArchiving || added.some(row => !isDueRow(row));
        const current = isListed ? await rows.load(after.request.id) : undefined;
        if (isListed && current === undefined) await index.remove(added);
        else if (isArchiving && current !== undefined) await index.put(indexRowsOf(current));
        return undefined;
      }
      logChanges(loaded.request, after, log);
      // The change is saved already. An error would report the opposite to the caller.
      const logLeft = (error: unknown) => log.warn("index_row_left", { credentialRequestId: after.request.id, error });
      try {
        // Comes before the removal of the former index rows: after a crash in between, the job that removes them
        // updates the record of the shipment, or unlinks it.
        await shipments.updateError(loaded, after);
        const removal = index.remove(isArchiving ? former.filter(isDueRow) : former);
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
      const { request } = loaded;
      const rowOf = (list: RequestList) => listRow(listKeyOf(request), list);
      const found = [...dueRowsOf(loaded), ...(foundBy === undefined ? [] : [rowOf(foundBy)])];
      // A crash may have left a row in the list of another state. It would stay until that list is read, so an erasure
      // removes it now.
      const states = foundBy === undefined ? [] : requestStates.map(state => ({ state }));
      const others = listsWithout([...listsOf(loaded), ...states], foundBy === undefined ? [] : [foundBy]);
      await shipments.unlinkAll(request);
      await index.remove(others.map(rowOf));
      await events?.removeAll(request);
      if (!(await rows.remove(loaded))) {
        const kept = await rows.load(request.id);
        if (kept !== undefined) await putIndexRows(kept);
        return false;
      }
      await index.remove(found);
      return true;
    },

    due: dueEntries(tables, log),
    entries: lists.entries,
    allEntries: lists.allEntries,

    /**
     * Removes an index row that does not match its request, because its writer is between two writes or stopped there.
     * The request is rewritten by its ETag before, so that a writer that still runs gets a conflict. Does nothing if
     * the request has changed meanwhile.
     * @param loaded undefined if there is no such request
     */
    async removeStale(row: DueEntry | ListedEntry, loaded: LoadedRequest | undefined): Promise<void> {
      if (loaded !== undefined) {
        // Not the lists of names: if the request is erased meanwhile, nothing would remove it from them.
        const states = listsOf(loaded).filter(list => "state" in list);
        const stateRows = states.map(list => listRow(listKeyOf(loaded.request), list));
        await index.put("queue" in row ? dueRowsOf(loaded) : stateRows);
        const key = "keyId" in row ? loaded.keys.find(({ id }) => id === row.keyId) : undefined;
        const rewritten = await rows.save(loaded, key === undefined ? { request: loaded.request } : { keys: [key] });
        if (rewritten === undefined) return;
        await shipments.repair(rewritten.request);
      }
      const { requestId } = row;
      await index.remove(["queue" in row ? dueRow({ due: row, requestId, keyId: row.keyId }) : listRow(row, row.list)]);
    },

    findShipment: async (shipmentId: string) => (await shipments.find(shipmentId))?.value,
    requestOfShipment: async (shipmentId: string) => (await shipments.find(shipmentId))?.value.requestId,
    /** Copies the current error of a request to the record of its shipment. */
    async updateShipment({ request: { id, delivery } }: LoadedRequest): Promise<void> {
      if (delivery?.shipment !== undefined) await shipments.update(delivery.shipment.id, id);
    },
  };
}

/** Logs a new state of a request, and of the delivery of its shipment. */
function logChanges(before: CredentialRequest, { request, keys }: RequestValues, log: Log): void {
  const { id: credentialRequestId, state, delivery } = request;
  if (state !== before.state) log.info("request_state", { credentialRequestId, state, from: before.state });
  const changed = newDeliveryState(before, request);
  if (changed === undefined) return;
  const count = keys.filter(key => !isOnSite(key)).length;
  const fields = { credentialRequestId, shipmentId: delivery?.shipment?.id, state: changed, keys: count };
  log[changed === "lost" || changed === "exception" ? "error" : "info"]("delivery_state", fields);
}
