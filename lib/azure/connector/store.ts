import type { Changes, LoadedRequest, RequestStore, Stored } from "../../connector/deps.ts";
import type { CredentialRequest, Due, SecurityKey } from "../../connector/model/request.ts";
import type { Log } from "../../log.ts";
import type { Now } from "../../time.ts";
import { readOrLog } from "../tables/row-schema.ts";
import type { Row, Tables } from "../tables/tables.ts";
import { claimsTable } from "./idempotency.ts";
import { listsTable, requestLists } from "./lists.ts";
import {
  fromDueRow,
  fromKeyRow,
  fromRequestRow,
  fromShipmentRow,
  shipmentKey,
  toDueColumns,
  toKeyColumns,
  toRequestColumns,
  toShipmentColumns,
} from "./rows.ts";

export const requestRow = "request";
export const keyPrefix = "key:";

const shipmentAt = (shipmentId: string) => ({ partitionKey: shipmentKey(shipmentId), rowKey: "shipment" });

/** Names of the connector's tables; the shipments table has its own by setting. */
export const connectorTables = (shipments: string): readonly string[] => [
  "credentialrequests",
  "due",
  claimsTable,
  listsTable,
  shipments,
];

/** The connector's rows in Table storage (docs/storage.md). */
export function connectorStore(
  tables: Tables,
  { shipmentsTable, now, log }: { readonly shipmentsTable: string; readonly now: Now; readonly log: Log },
): RequestStore {
  const requests = tables.table("credentialrequests");
  const index = tables.table("due");
  const shipments = tables.table(shipmentsTable);

  const load = async (id: string): Promise<LoadedRequest | undefined> => {
    const rows: Row[] = [];
    for await (const row of requests.query({ partitionKey: id })) rows.push(row);
    const row = rows.find(({ rowKey }) => rowKey === requestRow);
    if (row === undefined) return undefined;
    const keys = rows.filter(({ rowKey }) => rowKey.startsWith(keyPrefix));
    return {
      request: { value: fromRequestRow(row), etag: row.etag },
      keys: keys.map(key => ({ value: fromKeyRow(key), etag: key.etag })),
    };
  };

  const findShipment: RequestStore["findShipment"] = async shipmentId => {
    const { partitionKey, rowKey } = shipmentAt(shipmentId);
    const row = await shipments.get(partitionKey, rowKey);
    return row && { value: fromShipmentRow(row), etag: row.etag };
  };

  return {
    ...requestLists(tables, { now, log }),

    async insert(request, keys) {
      const actions = [
        { insert: { rowKey: requestRow, ...toRequestColumns(request) } },
        ...keys.map(key => ({ insert: { rowKey: keyPrefix + key.id, ...toKeyColumns(key) } })),
      ];
      const etags = await requests.transact(request.id, actions);
      // An id is never given twice: the row that is there was written by an earlier try of this very call.
      if (etags === undefined) return (await load(request.id)) ?? missing(request.id);
      const [requestEtag = "", ...keyEtags] = etags.map(etag => etag ?? "");
      return {
        request: { value: request, etag: requestEtag },
        keys: keys.map((value, position) => ({ value, etag: keyEtags[position] ?? "" })),
      };
    },

    load,

    async save(loaded, changes) {
      const { id } = loaded.request.value;
      const replacements = replacementsOf(loaded, changes);
      const [only] = replacements;
      const etags =
        replacements.length === 1 && only !== undefined
          ? [await requests.replace({ partitionKey: id, ...only.replace }, only.etag)]
          : await requests.transact(id, replacements);
      if (etags === undefined || etags.includes(undefined)) return undefined;
      return withChanges(loaded, changes, etags.map(String));
    },

    async remove(loaded) {
      const { value } = loaded.request;
      await requests.transact(value.id, [
        ...loaded.keys.map(key => ({ remove: { rowKey: keyPrefix + key.value.id } })),
        { remove: { rowKey: requestRow } },
      ]);
    },

    async schedule(due, requestId, keyId) {
      const columns = toDueColumns({
        requestId,
        writtenAt: now(),
        ...(keyId && { keyId }),
        ...(due.notBefore && { notBefore: due.notBefore }),
      });
      await index.upsert({ partitionKey: due.queue, rowKey: dueKey(due, requestId, keyId), ...columns });
    },

    async unschedule(due, requestId, keyId) {
      await index.remove(due.queue, dueKey(due, requestId, keyId));
    },

    async *due(queue, until) {
      const range = until === undefined ? {} : { before: `${until}~` };
      for await (const row of index.query({ partitionKey: queue, ...range })) {
        const entry = await readOrLog(log, () => fromDueRow(row));
        if (entry !== undefined) yield entry;
      }
    },

    async linkShipment(shipmentId, requestId, status = { state: "ongoing" }) {
      const columns = toShipmentColumns({ requestId, ...status });
      if ((await shipments.insert({ ...shipmentAt(shipmentId), ...columns })) !== undefined) return true;
      return (await findShipment(shipmentId))?.value.requestId === requestId;
    },

    async unlinkShipment(shipmentId, requestId) {
      const { partitionKey, rowKey } = shipmentAt(shipmentId);
      // Its status may be written meanwhile, which moves the ETag: the row goes all the same.
      for (;;) {
        const stored = await findShipment(shipmentId);
        if (stored?.value.requestId !== requestId) return;
        if (await shipments.remove(partitionKey, rowKey, stored.etag)) return;
      }
    },

    requestOfShipment: async shipmentId => (await findShipment(shipmentId))?.value.requestId,
    findShipment,

    async saveShipment(shipmentId, { value: { requestId }, etag }, status) {
      const row = { ...shipmentAt(shipmentId), ...toShipmentColumns({ requestId, ...status }) };
      return (await shipments.replace(row, etag)) !== undefined;
    },
  };
}

function missing(id: string): never {
  throw new Error(`credential request ${id} vanished while it was written`);
}

/** Sorts by time first, so that what is due is a range. */
const dueKey = (due: Due, requestId: string, keyId: string | undefined): string =>
  `${due.at}_${requestId}_${keyId ?? ""}`;

function replacementsOf(loaded: LoadedRequest, { request, keys = [] }: Changes) {
  const ofKey = (key: SecurityKey) => {
    const stored = loaded.keys.find(({ value }) => value.id === key.id);
    if (stored === undefined) throw new Error(`key ${key.id} is none of the request`);
    return { replace: { rowKey: keyPrefix + key.id, ...toKeyColumns(key) }, etag: stored.etag };
  };
  const ofRequest =
    request === undefined
      ? []
      : [{ replace: { rowKey: requestRow, ...toRequestColumns(request) }, etag: loaded.request.etag }];
  return [...ofRequest, ...keys.map(ofKey)];
}

function withChanges(loaded: LoadedRequest, { request, keys = [] }: Changes, etags: readonly string[]): LoadedRequest {
  const [first = "", ...rest] = etags;
  const keyEtags = request === undefined ? etags : rest;
  const changed = new Map(keys.map((value, position) => [value.id, { value, etag: keyEtags[position] ?? "" }]));
  const stored: Stored<CredentialRequest> = request === undefined ? loaded.request : { value: request, etag: first };
  return { request: stored, keys: loaded.keys.map(key => changed.get(key.value.id) ?? key) };
}
