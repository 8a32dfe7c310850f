import * as z from "zod";
import type { Immutable } from "../../platform/stored.ts";
import type { Instant } from "../../platform/time.ts";
import { credentialMessage } from "./credential.ts";
import type { CredentialRequest, Delivery, Shipment } from "./request.ts";
import { isOnSite, itemIndex, pinMailMessage, type SecurityKey } from "./security-key.ts";

/** The stored states of a shipment. `processing` is that of a lease and not stored (C9). */
export const shipmentStates = ["ongoing", "complete", "pending_pin_sending"] as const;

/** Returns the schema of the record of a shipment id: the linked request, and a copy of the shipment's status. */
export const shipmentRecordSchema = () =>
  z.object({
    requestId: z.string(),
    state: z.enum(shipmentStates).exactOptional(),
    errorMessage: z.string().exactOptional(),
  });
export type ShipmentRecord = Immutable<z.output<ReturnType<typeof shipmentRecordSchema>>>;

/** A shipment's state and processing error (specification section 2). */
type ShipmentStatus = Omit<ShipmentRecord, "requestId">;

/** Returns the status of a request's shipment, of which its record has a copy. */
export function shipmentStatusOf(request: CredentialRequest, keys: readonly SecurityKey[]) {
  const shipped = keys.filter(key => !isOnSite(key));
  const errorMessage = processingError(request, shipped);
  return { state: stateOf(shipped), ...(errorMessage !== undefined && { errorMessage }) };
}

/** Whether two statuses are equal. */
export const isSameStatus = (one: ShipmentStatus, other: ShipmentStatus): boolean =>
  one.state === other.state && one.errorMessage === other.errorMessage;

function stateOf(keys: readonly SecurityKey[]): (typeof shipmentStates)[number] {
  if (!keys.every(({ state }) => state === "complete")) return "ongoing";
  const isUnsent = ({ mail }: SecurityKey) =>
    mail.state === "given_up" || (mail.state === "due" && mail.retry?.lastError !== undefined);
  if (keys.some(isUnsent)) return "pending_pin_sending";
  return keys.every(({ mail }) => mail.state !== "due") ? "complete" : "ongoing";
}

function processingError(request: CredentialRequest, keys: readonly SecurityKey[]): string | undefined {
  const ofCredentials = keys.flatMap(key => key.credentials.map(credential => credentialMessage(credential, key)));
  return [...ofCredentials, ...keys.map(({ mail }) => pinMailMessage(mail)), request.errorMessage].find(
    message => message !== undefined,
  );
}

/** States of the normal course: in work, shipped, delivered. */
const expectedStates = [101, 102, 103, 104];

/** Whether a state of the delivery service means that the shipment cannot be deleted any more. */
export const isProduced = (stateId: number): boolean => stateId >= 102 && stateId <= 106;

/** Whether a state of the delivery service means that the security keys were shipped. */
const isShipped = (stateId: number): boolean => stateId >= 103 && stateId <= 106;

/** How a delivery ended, by the state of the delivery service. */
const endOf: Readonly<Record<number, "delivered" | "lost" | "exception">> = {
  104: "delivered",
  105: "lost",
  106: "exception",
};

/** The states of a delivery. `unknown`: the delivery service does not report its end any more. */
export const deliveryStates = ["in_transit", "delivered", "lost", "exception", "unknown"] as const;

/** What is done about the credentials of a shipment that is lost. */
export const lossActions = ["report", "revoke"] as const;
export type LossAction = (typeof lossActions)[number];

/** Returns the state of the delivery of a shipment; undefined if it is not shipped, or linked tentatively. */
export function deliveryStateOf(shipment: Shipment | undefined): (typeof deliveryStates)[number] | undefined {
  const { shippedAt, endedAt, stateId = 0, tentative } = shipment ?? {};
  if (shippedAt === undefined || tentative === true) return undefined;
  return endOf[stateId] ?? (endedAt === undefined ? "in_transit" : "unknown");
}

type WithDelivery = Pick<CredentialRequest, "delivery">;

/** Returns the state of the delivery of a changed request; undefined if it has not changed. */
export function newDeliveryState(before: WithDelivery, after: WithDelivery): ReturnType<typeof deliveryStateOf> {
  const state = deliveryStateOf(after.delivery?.shipment);
  return state === deliveryStateOf(before.delivery?.shipment) ? undefined : state;
}

/** Returns the delivery of a shipment that is not tracked any more. An end that was reported stays. */
export const withDeliveryEnd = ({ shipment, ...delivery }: Delivery, now: Instant): Delivery => ({
  ...delivery,
  ...(shipment && { shipment: { ...shipment, endedAt: shipment.endedAt ?? now } }),
});

/** What the delivery service reports of a shipment on its way. */
interface ShipmentReport {
  readonly state: { readonly id: number; readonly message?: string | undefined };
  readonly tracking?: NonNullable<Shipment["tracking"]> | undefined;
}

/** Returns a shipment after a report. What is known of its tracking and missing in the report is kept. */
export function afterReport(
  { message: _, endedAt, ...known }: Shipment,
  { state: { id, message }, tracking }: ShipmentReport,
  now: Instant,
): Shipment {
  const isSameParcel = tracking?.number === undefined || tracking.number === known.tracking?.number;
  return {
    ...known,
    stateId: id,
    ...(message && { message }),
    ...(tracking && { tracking: isSameParcel ? { ...known.tracking, ...tracking } : tracking }),
    ...(isShipped(id) && { shippedAt: known.shippedAt ?? now }),
    ...(id in endOf && { endedAt: (id === known.stateId ? endedAt : undefined) ?? now }),
  };
}

/** Returns the delivery service's message about a shipment that needs attention. */
export function deliveryProblem({ stateId, message }: Pick<Shipment, "stateId" | "message">): string | undefined {
  if (stateId === undefined || expectedStates.includes(stateId)) return undefined;
  return `The delivery service reports: ${message ?? `state ${stateId}`}`;
}

/** Returns the shipped security keys grouped by shipment item, in the order of the request. */
export function shippedItems(keys: readonly SecurityKey[]): readonly (readonly SecurityKey[])[] {
  const shipped = keys.filter(key => !isOnSite(key));
  return [...Map.groupBy(shipped, ({ id }) => itemIndex(id)).values()];
}

/** Returns the customer reference of the order: that of the caller, else the request id. Orders are looked up by it. */
export const referenceOf = (request: CredentialRequest): string => request.shipment?.customerReference ?? request.id;
