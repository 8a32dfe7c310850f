import type { ConnectorDeps, LoadedRequest } from "../deps.ts";
import { isSameStatus, type ShipmentStatus, shipmentStatusOf } from "../model/shipment-status.ts";

const statusIn = ({ request, keys }: LoadedRequest): ShipmentStatus =>
  shipmentStatusOf(
    request.value,
    keys.map(({ value }) => value),
  );

/** Writes the record after a save that changed the status. Costs nothing after any other save. */
export async function updateShipmentRecord(
  before: LoadedRequest,
  after: LoadedRequest,
  deps: Pick<ConnectorDeps, "requests">,
): Promise<void> {
  const shipmentId = after.request.value.delivery?.shipmentId;
  if (shipmentId === undefined) return;
  const isNew = before.request.value.delivery?.shipmentId !== shipmentId;
  const was: Partial<ShipmentStatus> = isNew ? { state: "ongoing" } : statusIn(before);
  if (!isSameStatus(was, statusIn(after))) await writeShipmentRecord(after, deps);
}

/** How often the record is written again when another process writes it at the same time. */
const attempts = 5;

/**
 * Writes what the request's rows say into the record. The record is read before them and written by its ETag: of two writers the
 * one that read older rows loses, and reads again. If all attempts lose, the others have written it.
 */
export async function writeShipmentRecord(
  { request: { value } }: LoadedRequest,
  { requests }: Pick<ConnectorDeps, "requests">,
): Promise<void> {
  const shipmentId = value.delivery?.shipmentId;
  if (shipmentId === undefined) return;
  for (let attempt = 0; attempt < attempts; attempt++) {
    const stored = await requests.findShipment(shipmentId);
    if (stored?.value.requestId !== value.id) return;
    const loaded = await requests.load(value.id);
    if (loaded?.request.value.delivery?.shipmentId !== shipmentId) return;
    const status = statusIn(loaded);
    if (isSameStatus(stored.value, status) || (await requests.saveShipment(shipmentId, stored, status))) return;
  }
}
