import { between, plus } from "../../time.ts";
import type { ConnectorDeps, LoadedRequest } from "../deps.ts";
import { unconfirmedMessage } from "../faults.ts";
import { PeerFailure } from "../http/failure.ts";
import { backOffMs } from "../model/intervals.ts";
import { isOnSite } from "../model/request.ts";
import { referenceOf } from "../model/shipment-items.ts";
import { startRequest } from "../model/states.ts";
import type { DeliveryShipment } from "../peers/delivery-wire.ts";
import { withPollDue } from "../store/next-due.ts";
import { isLeasedByAnother, newLease, type Run } from "../store/queue.ts";
import { saveRequest } from "../store/save-request.ts";
import { compensate } from "./compensate.ts";
import { failRequest } from "./fail-request.ts";
import { isOurOrder } from "./match-shipment.ts";

/**
 * What a creator left behind (decision C6): a request without a delivery mark is undone and ends `failed`; one whose delivery
 * call was not answered is looked up until it is found or the time for it ends.
 */
export async function reconcileRequest(loaded: LoadedRequest, run: Run, deps: ConnectorDeps): Promise<void> {
  const { now, intervals: timing } = deps;
  const request = loaded.request.value;
  const { sentAt } = request.delivery ?? {};
  if (isLeasedByAnother(request.lease, run, now())) return;
  const dueAt =
    sentAt === undefined ? plus(request.createdAt, timing.receivedMaxAge) : plus(sentAt, timing.settleAfter);
  if (dueAt > now()) {
    // Its creator may still be at work: the row is touched only where the index would find it too early again and again.
    if ((request.due?.at ?? dueAt) <= now()) {
      await saveRequest(loaded, { request: { ...request, due: { queue: "reconcile", at: dueAt } } }, deps);
    }
    return;
  }
  const claimed = await saveRequest(loaded, { request: { ...request, lease: newLease(run, now(), timing) } }, deps);
  if (claimed === undefined) return;
  await (sentAt === undefined ? undoAll(claimed, deps) : lookUp(claimed, sentAt, deps));
}

async function undoAll(claimed: LoadedRequest, deps: ConnectorDeps): Promise<void> {
  const request = claimed.request.value;
  try {
    const keys = claimed.keys.map(({ value }) => value);
    await compensate(request.id, keys, deps);
  } catch (error) {
    if (!(error instanceof PeerFailure)) throw error;
    deps.log.warn("undo_failed", { error });
    const message = request.errorMessage ?? "What was begun for the request is being undone.";
    await later(claimed, message, deps, error.retryAfter);
    return;
  }
  const interrupted =
    request.shipment === undefined
      ? "The request was interrupted before it was started."
      : "The request was interrupted and never sent to the delivery service.";
  await failRequest(claimed, request.errorMessage ?? interrupted, deps);
}

async function lookUp(claimed: LoadedRequest, sentAt: string, deps: ConnectorDeps): Promise<void> {
  const { requests, now, intervals: timing, log } = deps;
  const request = claimed.request.value;
  const { found, retryAfter } = await candidates(claimed, sentAt, deps);
  const [shipment] = found;
  if (found.length === 1 && shipment !== undefined && (await requests.claimShipment(shipment.shipmentId, request.id))) {
    log.info("shipment_adopted", { shipmentId: shipment.shipmentId });
    const { errorMessage, lease, ...rest } = request;
    const delivery = { ...request.delivery, shipmentId: shipment.shipmentId, adopted: true };
    const due = { queue: "poll", at: now() } as const;
    const started = { ...rest, state: startRequest(request.state), delivery, attempts: 0, due };
    await saveRequest(claimed, { request: started, keys: withPollDue(claimed, deps) }, deps);
    return;
  }
  if (between(sentAt, now()) > timing.settleFor) {
    log.error("shipment_not_found", { candidates: found.length });
    const reason =
      "The delivery service never confirmed the shipment. Look there for the customer reference before ordering again.";
    const failure = await takeBackOnSite(claimed, deps);
    if (failure === undefined) await failRequest(claimed, reason, deps, "never_confirmed");
    else await later(claimed, reason, deps, failure.retryAfter);
    return;
  }
  await later(claimed, request.errorMessage ?? unconfirmedMessage, deps, retryAfter);
}

/** The authenticators of a request that never starts are not to be enrolled. A failure where they may still be: the undoing goes on. */
async function takeBackOnSite({ request, keys }: LoadedRequest, deps: ConnectorDeps): Promise<PeerFailure | undefined> {
  const waiting = keys.map(({ value }) => value).filter(key => isOnSite(key) && key.state === "processing");
  try {
    await compensate(request.value.id, waiting, deps);
    return undefined;
  } catch (error) {
    if (!(error instanceof PeerFailure)) throw error;
    deps.log.warn("undo_failed", { error });
    return error;
  }
}

/**
 * Shipments that may be this request's: made no earlier than 5 minutes before the mark, equal in content, nobody else's. With them,
 * the seconds after which the service wants to be asked again, where it did not answer now.
 */
async function candidates(
  claimed: LoadedRequest,
  sentAt: string,
  deps: ConnectorDeps,
): Promise<{ readonly found: readonly DeliveryShipment[]; readonly retryAfter?: number | undefined }> {
  const request = claimed.request.value;
  const found = await deps.delivery.findByReference(referenceOf(request)).catch((error: unknown) => {
    if (!(error instanceof PeerFailure)) throw error;
    deps.log.warn("look_up_failed", { error });
    return error;
  });
  if (found instanceof PeerFailure) return { found: [], retryAfter: found.retryAfter };
  if (found === "cannot_tell") return { found: [] };
  const earliest = plus(sentAt, -5 * 60_000);
  const likely = found.filter(
    shipment =>
      (shipment.requestedAt ?? "") > earliest &&
      isOurOrder(claimed, shipment) &&
      request.delivery?.strangers?.includes(shipment.shipmentId) !== true,
  );
  const owners = await Promise.all(likely.map(({ shipmentId }) => deps.requests.requestOfShipment(shipmentId)));
  return { found: likely.filter((_, index) => owners[index] === undefined || owners[index] === request.id) };
}

/** @param retryAfter seconds that a peer asked to wait */
async function later(
  claimed: LoadedRequest,
  errorMessage: string,
  deps: ConnectorDeps,
  retryAfter?: number,
): Promise<void> {
  const { now, intervals: timing } = deps;
  const { lease, ...request } = claimed.request.value;
  const wait = Math.max(backOffMs(request.attempts, timing.retryMin, timing.retryMax), (retryAfter ?? 0) * 1000);
  const due = { queue: "reconcile", at: plus(now(), wait), ...(retryAfter !== undefined && { held: true }) } as const;
  await saveRequest(claimed, { request: { ...request, errorMessage, attempts: request.attempts + 1, due } }, deps);
}
