import { toResult } from "../../platform/async.ts";
import { type Fault, isUnavailable } from "../../platform/fault.ts";
import { PeerFailure } from "../../platform/peer-failure.ts";
import { type Instant, plus } from "../../platform/time.ts";
import type { ConnectorDeps } from "../deps.ts";
import { intentFault, orderFault, unconfirmedMessage, unreconciledFault } from "../faults.ts";
import type { Changes, LoadedRequest } from "../model/loaded-request.ts";
import { withPollDue } from "../model/next-due.ts";
import { deliveryService } from "../model/peer-names.ts";
import { type CredentialRequest, type Delivery, shipmentIdOf } from "../model/request.ts";
import { referenceOf, shippedItems } from "../model/shipment.ts";
import { startRequest } from "../model/states.ts";
import type { DeliveryOrder } from "../peers/delivery-wire.ts";
import { saveChanges } from "../runs/change-request.ts";
import { abortCreate, compensateTooLate, saveFromHandler } from "./abort-create.ts";
import type { CreatedIds } from "./draft.ts";
import type { PreparedRequest } from "./prepare-request.ts";

/**
 * Writes the order intent, orders the shipment with one call that is never repeated, and starts the request. Throws
 * Fault `delivery_refused`, `unavailable` or `internal`; `internal` also if it is not known whether the order was
 * accepted.
 */
export async function orderShipment(
  prepared: LoadedRequest,
  { keys, encryptedRequests }: PreparedRequest,
  deps: ConnectorDeps,
): Promise<CreatedIds> {
  const intentAt = deps.now();
  const loaded = await recordOrderIntent(prepared, keys, intentAt, deps);
  const notAfter = plus(intentAt, deps.intervals.orderIntentMaxAgeMs);
  const shipment = deliveryOrderOf(loaded, encryptedRequests);
  let shipmentId: string;
  try {
    ({ shipmentId } = await deps.delivery.createShipment(shipment, { notAfter }));
  } catch (error) {
    if (!(error instanceof PeerFailure) || error.mayBeDone)
      throw await leaveForReconciliation(loaded, intentAt, error, deps);
    throw await abortCreate(loaded, orderFault(error), deps);
  }
  try {
    return await startWithShipment(loaded, shipmentId, intentAt, deps);
  } catch (error) {
    // The shipment is ordered, so a storage failure here must not be reported as a call that may be repeated.
    deps.log.error("start_failed", { credentialRequestId: loaded.request.id, shipmentId, error });
    throw await leaveForReconciliation(loaded, intentAt, error, deps);
  }
}

/**
 * Writes the order intent, together with the sealed keys and IdP states if they are not stored yet. From then on the
 * order may exist (C6). Throws Fault `unavailable` if the create took too long, if the job has taken the request over,
 * or if storage did not answer; in the last case after it has aborted the create.
 */
async function recordOrderIntent(
  loaded: LoadedRequest,
  keys: PreparedRequest["keys"],
  intentAt: Instant,
  deps: ConnectorDeps,
): Promise<LoadedRequest> {
  const request = { ...loaded.request, delivery: { sentAt: intentAt } };
  const hasStoredKeys = loaded.keys.every(({ credentials }) =>
    credentials.every(({ responseKey }) => responseKey !== undefined),
  );
  const changes = { request, ...(hasStoredKeys ? {} : { keys }) };
  let doubt: Fault | undefined;
  const onDoubt = (error: Fault) => {
    doubt = error;
    deps.log.warn("write_in_doubt", { credentialRequestId: request.id, error });
  };
  const recorded = await saveFromHandler(loaded, changes, deps, { onDoubt }).catch((error: unknown) => {
    throw isUnavailable(error) ? intentFault(error) : error;
  });
  if (recorded === undefined) throw await compensateTooLate(request.id, hasStoredKeys ? [] : keys, deps);
  // Storage that has just lost an answer may also lose the id of the shipment, and an order cannot be withdrawn.
  if (doubt !== undefined) throw await abortCreate(recorded, intentFault(doubt), deps);
  return recorded;
}

/**
 * Schedules the reconciliation of an order that may exist: it is neither repeated nor compensated. Records it also in a
 * request that the job has written meanwhile: without it, the job would take the
 * intent for one that a crash left, and end the request after an hour (C6). Returns the fault for the caller.
 */
async function leaveForReconciliation(
  loaded: LoadedRequest,
  intentAt: Instant,
  cause: unknown,
  deps: ConnectorDeps,
): Promise<Fault> {
  const { id } = loaded.request;
  deps.log.error("delivery_unanswered", { credentialRequestId: id, error: cause });
  const at = plus(intentAt, deps.intervals.reconcileAfterMs);
  const due = { queue: "reconcile", at, peer: deliveryService } as const;
  const markUnconfirmed = ({ request }: LoadedRequest): Changes | undefined => {
    if (request.delivery?.sentAt !== intentAt || !isUnconfirmed(request)) return undefined;
    const left = { ...request, delivery: { ...request.delivery, isUnanswered: true } };
    return { request: request.state === "received" ? { ...left, due, errorMessage: unconfirmedMessage } : left };
  };
  const written = await toResult(saveChanges(loaded, markUnconfirmed, deps));
  if ("error" in written) deps.log.error("reconcile_not_scheduled", { credentialRequestId: id, error: written.error });
  return unreconciledFault(id, cause);
}

/** Returns the order for the delivery service. Throws if the request has no shipment. */
function deliveryOrderOf(
  { request, keys }: LoadedRequest,
  encryptedRequests: PreparedRequest["encryptedRequests"],
): DeliveryOrder {
  if (request.shipment === undefined) throw new Error("a request without a shipment is not ordered");
  const { externalId: _, ...recipient } = request.recipient;
  const items = shippedItems(keys).map((securityKeys): DeliveryOrder["items"][number] => {
    const [first] = securityKeys;
    return {
      productId: first?.productId ?? 0,
      inventoryProductId: first?.inventoryProductId ?? 0,
      customizationId: first?.customizationId,
      keyName: first?.name,
      keys: securityKeys.map(({ id }) => encryptedRequests.get(id) ?? { credentialRequests: [] }),
    };
  });
  return { ...request.shipment, customerReference: referenceOf(request), recipient, items };
}

/**
 * Stores the accepted shipment and starts the request. A delayed handler also replaces a tentative link that the job
 * has found meanwhile: its shipment id comes from the delivery service itself (C6). Throws if the shipment id belongs
 * to another request.
 */
async function startWithShipment(
  recorded: LoadedRequest,
  shipmentId: string,
  intentAt: Instant,
  deps: ConnectorDeps,
): Promise<CreatedIds> {
  const { requests, now, intervals, log } = deps;
  const requestId = recorded.request.id;
  const due = {
    queue: "poll",
    at: plus(now(), intervals.shipmentPoll.minMs),
    peer: deliveryService,
  } as const;
  let latest = recorded;
  const start = async (current: LoadedRequest): Promise<Changes | undefined> => {
    // After a conflict, which a shipment that is linked to another request causes too.
    if (current !== recorded && (await requests.requestOfShipment(shipmentId)) !== requestId)
      throw new Error("the delivery service returned the id of another request's shipment");
    latest = current;
    const request = current.request;
    if (!isUnconfirmed(request)) return undefined;
    const { missing, ...delivery } = request.delivery ?? {};
    const { errorMessage, lease, due: before, ...rest } = request;
    const state = request.state === "received" ? startRequest(request.state) : request.state;
    return {
      request: {
        ...rest,
        state,
        attempts: 0,
        due,
        delivery: { ...withShipment(delivery, shipmentId), sentAt: intentAt },
      },
      keys: withPollDue(current.keys, deps),
    };
  };
  // The caller does not wait for the removal of the former index rows: a job sweeps rows that remain.
  const saved = await saveChanges(recorded, start, deps, { isUrgent: true });
  if (saved === undefined && shipmentIdOf(latest.request) !== shipmentId)
    log.error("shipment_after_end", { credentialRequestId: requestId, shipmentId });
  return { requestId, shipmentId };
}

/** Whether the shipment of an open request is not known, or linked tentatively only. */
const isUnconfirmed = ({ state, delivery }: CredentialRequest): boolean =>
  state === "received" || (state === "started" && delivery?.shipment?.tentative === true);

/** Returns the delivery with its shipment. A tentative one is rejected, so that even after a crash it is unlinked. */
function withShipment(delivery: Delivery, shipmentId: string): Delivery {
  const { shipment: former, rejectedShipmentIds = [] } = delivery;
  const shipment = { id: shipmentId };
  if (former === undefined) return { ...delivery, shipment };
  if (former.id !== shipmentId)
    return { ...delivery, shipment, rejectedShipmentIds: [...rejectedShipmentIds, former.id] };
  const { tentative, ...confirmed } = former;
  return { ...delivery, shipment: confirmed };
}
