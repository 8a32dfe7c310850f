import { pinMailMessage } from "./pin-mail.ts";
import { type CredentialRequest, isOnSite, type SecurityKey } from "./request.ts";

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
export function shipmentStatusOf(request: CredentialRequest, keys: readonly SecurityKey[]): ShipmentStatus {
  const shipped = keys.filter(key => !isOnSite(key));
  const errorMessage = processingError(request, shipped);
  return { state: stateOf(shipped), ...(errorMessage !== undefined && { errorMessage }) };
}

/** Whether two statuses say the same. */
export const isSameStatus = (one: Partial<ShipmentStatus>, other: Partial<ShipmentStatus>): boolean =>
  one.state === other.state && one.errorMessage === other.errorMessage;
function stateOf(keys: readonly SecurityKey[]): ShipmentStatus["state"] {
  if (!keys.every(({ state }) => state === "complete")) return "ongoing";
  const isUnsent = ({ mail }: SecurityKey) =>
    mail.state === "given_up" || (mail.state === "due" && mail.errorMessage !== undefined);
  if (keys.some(isUnsent)) return "pending_pin_sending";
  return keys.every(({ mail }) => mail.state !== "due") ? "complete" : "ongoing";
}
function processingError(request: CredentialRequest, keys: readonly SecurityKey[]): string | undefined {
  const ofCredentials = keys.flatMap(({ credentials }) => credentials.map(({ errorMessage }) => errorMessage));
  return [...ofCredentials, ...keys.map(({ mail }) => pinMailMessage(mail)), request.errorMessage].find(
    message => message !== undefined,
  );
}
