import { rowColumns } from "../../platform/azure/row-columns.ts";
import type { Tables } from "../../platform/azure/tables.ts";
import { conflict, retryOnConflict, type Stored } from "../../platform/stored.ts";
import type { LoadedRequest, RequestValues } from "../model/loaded-request.ts";
import { type CredentialRequest, shipmentIdOf } from "../model/request.ts";
import { type ShipmentRecord, shipmentRecordOf, shipmentRecordSchema } from "../model/shipment.ts";
import { schemaVersion } from "./request-rows.table.ts";

export const shipmentColumns = rowColumns<ShipmentRecord>(
  { kind: "shipment", version: schemaVersion },
  shipmentRecordSchema,
);

/** Returns the keys of the record of a shipment id, in which keys do not allow every character. */
const keysOf = (shipmentId: string) => ({
  partitionKey: /^[\w-]{1,200}$/.test(shipmentId) ? shipmentId : `~${Buffer.from(shipmentId).toString("base64url")}`,
  rowKey: "shipment",
});

/** Attempts to write a record. If all conflict, another process has written the error. */
const maxAttempts = 5;

/** Returns the records that link shipment ids to requests, each with its processing error (C9). */
export function shipmentRecords(
  tables: Tables,
  shipmentsTable: string,
  load: (requestId: string) => Promise<LoadedRequest | undefined>,
) {
  const table = tables.table(shipmentsTable);

  const find = async (shipmentId: string): Promise<Stored<ShipmentRecord> | undefined> => {
    const { partitionKey, rowKey } = keysOf(shipmentId);
    const row = await table.get(partitionKey, rowKey);
    return row && { value: shipmentColumns.fromRow(row), version: row.etag };
  };

  /** Links a shipment to a request. False if it is linked to another request. May be repeated. */
  const link = async (shipmentId: string, record: ShipmentRecord): Promise<boolean> => {
    const row = { ...keysOf(shipmentId), ...shipmentColumns.toColumns(record) };
    if ((await table.insert(row)) !== undefined) return true;
    return (await find(shipmentId))?.value.requestId === record.requestId;
  };

  /** Removes the link of a shipment to this request, if it exists. */
  const unlink = async (shipmentId: string, requestId: string): Promise<void> => {
    const { partitionKey, rowKey } = keysOf(shipmentId);
    // A write of the error changes the ETag, so the removal is repeated until it succeeds.
    await retryOnConflict(async () => {
      const stored = await find(shipmentId);
      if (stored?.value.requestId !== requestId) return undefined;
      return (await table.remove(partitionKey, rowKey, stored.version)) ? undefined : conflict;
    });
  };

  /**
   * Copies the error from the rows of a request to the record of its shipment. The record is read before the rows and
   * written by its ETag, so that an older error never replaces a newer one.
   */
  const update = async (shipmentId: string, requestId: string): Promise<void> => {
    for (let attempt = 0; attempt < maxAttempts; attempt++) {
      const stored = await find(shipmentId);
      if (stored?.value.requestId !== requestId) return;
      const loaded = await load(requestId);
      if (loaded?.request.delivery?.shipment?.id !== shipmentId) return;
      const record = shipmentRecordOf(loaded);
      if (stored.value.errorMessage === record.errorMessage) return;
      const row = { ...keysOf(shipmentId), ...shipmentColumns.toColumns(record) };
      if ((await table.replace(row, stored.version)) !== undefined) return;
    }
  };

  return {
    find,
    link,
    unlink,
    update,

    /** Links the shipment of a changed request, if it is new. False if it is linked to another request. */
    async linkNew(before: RequestValues | undefined, after: RequestValues): Promise<boolean> {
      const shipmentId = shipmentIdOf(after.request);
      if (shipmentId === undefined || shipmentId === (before && shipmentIdOf(before.request))) return true;
      return link(shipmentId, shipmentRecordOf(after));
    },

    /** Writes the error of a changed request, if it is new, and unlinks a shipment that the request has no more. */
    async updateError(before: RequestValues, after: RequestValues): Promise<void> {
      const former = shipmentIdOf(before.request);
      if (former === undefined) return;
      if (former !== shipmentIdOf(after.request)) return unlink(former, after.request.id);
      if (shipmentRecordOf(before).errorMessage !== shipmentRecordOf(after).errorMessage)
        await update(former, after.request.id);
    },

    /** Writes what a crash may have left: the error of the shipment, and the links of rejected shipments. */
    async repair({ id, delivery }: CredentialRequest): Promise<void> {
      if (delivery?.shipment !== undefined) await update(delivery.shipment.id, id);
      for (const rejected of delivery?.rejectedShipmentIds ?? [])
        if (rejected !== delivery?.shipment?.id) await unlink(rejected, id);
    },

    /** Removes the links of all shipments that a request has or had: a crash may have left rejected ones. */
    async unlinkAll({ id, delivery: { shipment, rejectedShipmentIds = [] } = {} }: CredentialRequest): Promise<void> {
      for (const linked of [...rejectedShipmentIds, ...(shipment === undefined ? [] : [shipment.id])])
        await unlink(linked, id);
    },
  };
}
