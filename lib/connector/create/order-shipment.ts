import { toResult } from "../../platform/async.ts";
import { type Fault, isUnavailable } from "../../platform/fault.ts";
import { PeerFailure } from "../../platform/peer-failure.ts";
import { type Instant, plus } from "../../platform/time.ts";
import type { ConnectorDeps } from "../deps.ts";
import {
  orderFault,
  orderingMessage,
  storageFault,
  tooLateFault,
  unconfirmedMessage,
  unreconciledFault,
} from "../faults.ts";
import type { Changes, LoadedRequest } from "../model/loaded-request.ts";
import { withPollDue } from "../model/next-due.ts";
import { deliveryService } from "../model/peer-names.ts";
import { type CredentialRequest, type Delivery, type Shipment, shipmentIdOf } from "../model/request.ts";
import type { EncryptedRequests } from "../peers/exchange-messages.ts";
import { saveChanges } from "../runs/change-request.ts";
import { abortCreate } from "./abort-create.ts";
import type { CreatedIds } from "./draft.ts";

/**
 * Saves a request from its create handler before the order. Throws Fault `unavailable` if the create took too long, if
 * the job has taken the request over, or if storage is not responding.
 * @param options as for `RequestStore.save`
 */
export async function saveFromHandler(
  loaded: LoadedRequest,
  changes: Changes,
  { requests, now, intervals }: Pick<ConnectorDeps, "requests" | "now" | "intervals">,
  options?: Parameters<ConnectorDeps["requests"]["save"]>[2],
): Promise<LoadedRequest> {
  const isInTime = now() <= plus(loaded.request.createdAt, intervals.createMs);
  if (!isInTime) throw tooLateFault();
  const saved = await requests.save(loaded, changes, options).catch((error: unknown) => {
    throw isUnavailable(error) ? storageFault(error) : error;
  });
  if (saved === undefined) throw tooLateFault();
  return saved;
}

/**
 * Writes the order intent, together with the sealed keys and IdP states. From then on the order may exist (C6). Throws
 * Fault `unavailable` if the create took too long, if the job has taken the request over, or if storage did not answer:
 * storage that has just lost an answer may also lose the id of the shipment, and an order cannot be withdrawn.
 */
export async function recordOrderIntent(loaded: LoadedRequest, deps: ConnectorDeps): Promise<LoadedRequest> {
  // The message is read during the call and if this process dies in it; an answer removes it.
  const request = { ...loaded.request, delivery: { sentAt: deps.now() }, errorMessage: orderingMessage };
  let doubt: Fault | undefined;
  const onDoubt = (error: Fault) => {
    doubt = error;
    deps.log.warn("write_in_doubt", { credentialRequestId: request.id, error });
  };
  const recorded = await saveFromHandler(loaded, { request, keys: loaded.keys }, deps, { onDoubt });
  if (doubt !== undefined) throw storageFault(doubt);
  return recorded;
}

/**
 * Orders the shipment of a request with an order intent, with one call that is never repeated, and starts the request.
 * Throws Fault `delivery_refused`, `unavailable` or `internal`; `internal` also if it is not known whether the order
 * was accepted.
 */
export async function orderShipment(
  loaded: LoadedRequest,
  encrypted: EncryptedRequests,
  deps: ConnectorDeps,
): Promise<CreatedIds> {
  const { sentAt = deps.now() } = loaded.request.delivery ?? {};
  const notAfter = plus(sentAt, deps.intervals.orderIntentMaxAgeMs);
  const ordered = await toResult(deps.delivery.createShipment({ ...loaded, encrypted }, { notAfter }));
  if ("error" in ordered) {
    const { error } = ordered;
    if (!(error instanceof PeerFailure) || error.mayBeDone)
      throw await leaveForReconciliation(loaded, sentAt, error, deps);
    const fault = orderFault(error);
    await abortCreate(loaded, fault, deps);
    throw fault;
  }
  const { shipmentId } = ordered.value;
  try {
    return await startWithShipment(loaded, shipmentId, deps);
  } catch (error) {
    // The shipment is ordered, so a storage failure here must not be reported as a call that may be repeated.
    deps.log.error("start_failed", { credentialRequestId: loaded.request.id, shipmentId, error });
    throw await leaveForReconciliation(loaded, sentAt, error, deps);
  }
}

/**
 * Schedules the reconciliation of an order that may exist: it is neither repeated nor compensated (C6). A shipment that
 * the job has linked meanwhile stays linked. Returns the fault for the caller.
 */
async function leaveForReconciliation(
  loaded: LoadedRequest,
  sentAt: Instant,
  cause: unknown,
  deps: ConnectorDeps,
): Promise<Fault> {
  const { id } = loaded.request;
  const at = plus(sentAt, deps.intervals.reconcileAfterMs);
  const due = { queue: "reconcile", at, peer: deliveryService } as const;
  const redirect =
    cause instanceof PeerFailure && Math.floor((cause.status ?? 0) / 100) === 3 ? cause.detail : undefined;
  deps.log.error("delivery_unanswered", { credentialRequestId: id, ...(redirect && { redirect }), error: cause });
  const errorMessage = [unconfirmedMessage, ...(redirect ? [`DELIVERY_API_BASE_URL: ${redirect}`] : [])].join(" ");
  const markUnconfirmed = ({ request }: LoadedRequest): Changes | undefined =>
    request.delivery?.sentAt === sentAt && request.state === "received"
      ? { request: { ...request, due, errorMessage } }
      : undefined;
  const written = await toResult(saveChanges(loaded, markUnconfirmed, deps));
  if ("error" in written) deps.log.error("reconcile_not_scheduled", { credentialRequestId: id, error: written.error });
  return unreconciledFault("internal", id, { cause });
}

/**
 * Stores the accepted shipment and starts the request. A delayed handler also replaces a tentative link that the job
 * has found meanwhile: its shipment id comes from the delivery service itself (C6). Throws if the shipment id belongs
 * to another request.
 */
async function startWithShipment(
  recorded: LoadedRequest,
  shipmentId: string,
  deps: ConnectorDeps,
): Promise<CreatedIds> {
  const { requests, now, intervals, log } = deps;
  const requestId = recorded.request.id;
  const due = { queue: "poll", at: plus(now(), intervals.shipmentPoll.minMs), peer: deliveryService } as const;
  let latest = recorded;
  const start = async (current: LoadedRequest): Promise<Changes | undefined> => {
    // After a conflict, which a shipment that is linked to another request causes too.
    if (current !== recorded && (await requests.requestOfShipment(shipmentId)) !== requestId)
      throw new Error("the delivery service returned the id of another request's shipment");
    latest = current;
    if (!isUnconfirmed(current.request)) return undefined;
    const { errorMessage, lease, due: before, ...request } = current.request;
    const delivery = withShipment(request.delivery ?? {}, shipmentId);
    return {
      request: { ...request, state: "started", attempts: 0, due, delivery },
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
function withShipment({ missing, shipment: former, ...delivery }: Delivery, id: string): Delivery {
  if (former === undefined || former.id === id) {
    const { tentative, ...shipment }: Shipment = former ?? { id };
    return { ...delivery, shipment };
  }
  return { ...delivery, shipment: { id }, rejectedShipmentIds: [...(delivery.rejectedShipmentIds ?? []), former.id] };
}
