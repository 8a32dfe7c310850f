import { pinMailMessage } from "./pin-mail-domains.ts";
import type { ConnectorDeps, Loaded } from "./ports.ts";
import { type CredentialRequest, isOnSite, type Key } from "./request.ts";

/** States of a shipment that are stored. `processing` is not: it ends with a lease, without a write (decision C9). */
export const shipmentStates = ["ongoing", "complete", "pending_pin_sending"] as const;

/** A shipment's state and processing error (specification section 2). */
export interface ShipmentStatus {
  readonly state: (typeof shipmentStates)[number];
  readonly errorMessage?: string;
}

/** The record of a shipment id: the request that has it, and a copy of its status. */
export interface ShipmentRecord extends Partial<ShipmentStatus> {
  readonly requestId: string;
}

/** Returns the status of a request's shipment. The rows of request and keys decide: the record repeats what they say. */
export function shipmentStatusOf(request: CredentialRequest, keys: readonly Key[]): ShipmentStatus {
  const shipped = keys.filter(key => !isOnSite(key));
  const errorMessage = processingError(request, shipped);
  return { state: stateOf(shipped), ...(errorMessage !== undefined && { errorMessage }) };
}

function stateOf(keys: readonly Key[]): ShipmentStatus["state"] {
  if (!keys.every(({ state }) => state === "complete")) return "ongoing";
  const isUnsent = ({ mail }: Key) =>
    mail.state === "given_up" || (mail.state === "due" && mail.errorMessage !== undefined);
  if (keys.some(isUnsent)) return "pending_pin_sending";
  return keys.every(({ mail }) => mail.state !== "due") ? "complete" : "ongoing";
}

function processingError(request: CredentialRequest, keys: readonly Key[]): string | undefined {
  const ofCredentials = keys.flatMap(({ credentials }) => credentials.map(({ errorMessage }) => errorMessage));
  return [...ofCredentials, ...keys.map(({ mail }) => pinMailMessage(mail)), request.errorMessage].find(
    message => message !== undefined,
  );
}

const statusIn = ({ request, keys }: Loaded): ShipmentStatus =>
  shipmentStatusOf(
    request.value,
    keys.map(({ value }) => value),
  );

export const sameStatus = (one: Partial<ShipmentStatus>, other: Partial<ShipmentStatus>): boolean =>
  one.state === other.state && one.errorMessage === other.errorMessage;

/** Writes the record after a save that changed the status. Costs nothing after any other save. */
export async function keepShipmentRecord(
  before: Loaded,
  after: Loaded,
  deps: Pick<ConnectorDeps, "requests">,
): Promise<void> {
  const shipmentId = after.request.value.delivery?.shipmentId;
  if (shipmentId === undefined) return;
  const isNew = before.request.value.delivery?.shipmentId !== shipmentId;
  const was: Partial<ShipmentStatus> = isNew ? { state: "ongoing" } : statusIn(before);
  if (!sameStatus(was, statusIn(after))) await writeShipmentRecord(after, deps);
}

/** How often the record is written again when another process writes it at the same time. */
const attempts = 5;

/**
 * Writes what the request's rows say into the record. The record is read before them and written by its ETag: of two writers the
 * one that read older rows loses, and reads again. If all attempts lose, the others have written it.
 */
export async function writeShipmentRecord(
  { request: { value } }: Loaded,
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
    if (sameStatus(stored.value, status) || (await requests.saveShipment(shipmentId, stored, status))) return;
  }
}
