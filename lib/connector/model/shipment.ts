import * as z from "zod";
import { omitUndefined } from "../../platform/collections.ts";
import type { Immutable } from "../../platform/stored.ts";
import type { Instant } from "../../platform/time.ts";
import { credentialMessage } from "./credential.ts";
import type { RequestValues } from "./loaded-request.ts";
import type { CredentialRequest, Delivery, Shipment } from "./request.ts";
import { isOnSite, itemIndex, pinMailMessage, type SecurityKey } from "./security-key.ts";

/** The states of a shipment. A read adds `processing`, that of a lease (C9). */
export const shipmentStates = ["ongoing", "complete", "pending_pin_sending"] as const;

/** Returns the schema of the record of a shipment id: the linked request, and its processing error. */
export const shipmentRecordSchema = () => z.object({ requestId: z.string(), errorMessage: z.string().exactOptional() });
export type ShipmentRecord = Immutable<z.output<ReturnType<typeof shipmentRecordSchema>>>;

/** Returns the record of a request's shipment. The processing error is that of specification section 2. */
export function shipmentRecordOf({ request, keys }: RequestValues): ShipmentRecord {
  const shipped = shippedKeys(keys);
  const messages = [
    ...shipped.flatMap(key => key.credentials.map(credential => credentialMessage(credential, key))),
    ...shipped.map(({ mail }) => pinMailMessage(mail)),
    request.errorMessage,
  ];
  return omitUndefined({ requestId: request.id, errorMessage: messages.find(message => message !== undefined) });
}

/** Returns the state of the shipment with the shipped ones of these security keys. */
export function shipmentStateOf(all: readonly SecurityKey[]): (typeof shipmentStates)[number] {
  const keys = shippedKeys(all);
  if (!keys.every(({ state }) => state === "complete")) return "ongoing";
  const isUnsent = ({ mail }: SecurityKey) =>
    mail.state === "given_up" || (mail.state === "due" && mail.retry?.lastError !== undefined);
  if (keys.some(isUnsent)) return "pending_pin_sending";
  return keys.every(({ mail }) => mail.state !== "due") ? "complete" : "ongoing";
}

const shippedKeys = (keys: readonly SecurityKey[]) => keys.filter(key => !isOnSite(key));

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
  return [...Map.groupBy(shippedKeys(keys), ({ id }) => itemIndex(id)).values()];
}

/** Returns the customer reference of the order: that of the caller, else the request id. Orders are looked up by it. */
export const referenceOf = (request: CredentialRequest): string => request.shipment?.customerReference ?? request.id;
