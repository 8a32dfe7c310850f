import type { ConnectorDeps, LoadedRequest } from "../deps.ts";
import { isSameStatus, type ShipmentStatus, shipmentStatusOf } from "../model/shipment-status.ts";

const statusIn = ({ request, keys }: LoadedRequest): ShipmentStatus =>
  shipmentStatusOf(
    request.value,
    keys.map(({ value }) => value),
  );

/** Writes the shipment's record if a save changed the status. Makes no storage call otherwise. */
export async function updateShipmentRecord(
  before: LoadedRequest,
  after: LoadedRequest,
  deps: Pick<ConnectorDeps, "requests">,
): Promise<void> {
  const shipmentId = after.request.value.delivery?.shipmentId;
  if (shipmentId === undefined) return;
  const isNew = before.request.value.delivery?.shipmentId !== shipmentId;
  const previous: Partial<ShipmentStatus> = isNew ? { state: "ongoing" } : statusIn(before);
  if (!isSameStatus(previous, statusIn(after))) await writeShipmentRecord(after, deps);
}

/** Attempts to write the record when other processes write it at the same time. */
const maxAttempts = 5;

/**
 * Copies the status from the request's rows to the shipment's record. The record is read before the rows and written by its ETag, so that
 * an older status never replaces a newer one. If all attempts conflict, other writers have written the record.
 */
export async function writeShipmentRecord(
  { request: { value } }: LoadedRequest,
  { requests }: Pick<ConnectorDeps, "requests">,
): Promise<void> {
  const shipmentId = value.delivery?.shipmentId;
  if (shipmentId === undefined) return;
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    const stored = await requests.findShipment(shipmentId);
    if (stored?.value.requestId !== value.id) return;
    const loaded = await requests.load(value.id);
    if (loaded?.request.value.delivery?.shipmentId !== shipmentId) return;
    const status = statusIn(loaded);
    if (isSameStatus(stored.value, status) || (await requests.saveShipment(shipmentId, stored, status))) return;
  }
}
