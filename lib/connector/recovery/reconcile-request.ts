import { between, plus } from "../../platform/time.ts";
import type { ConnectorDeps } from "../deps.ts";
import { unconfirmedMessage } from "../faults.ts";
import { neverConfirmedMessage } from "../model/idempotency.ts";
import type { LoadedRequest } from "../model/loaded-request.ts";
import { postponeRequest, withPollDue } from "../model/next-due.ts";
import { deliveryService } from "../model/peer-names.ts";
import type { Delivery } from "../model/request.ts";
import { hasProgressed, isOnSite } from "../model/security-key.ts";
import { startRequest } from "../model/states.ts";
import { callInTurn, isLeasedByAnother, newLease, type Run } from "../runs/run.ts";
import { endUnconfirmed, failRequest } from "./fail-request.ts";
import { compensateInTurn, mustDeferKeys } from "./peers-in-turn.ts";
import { canFindOthers, findCandidates, isNeverOrdered, withUnknown } from "./unknown-order.ts";

/**
 * Reconciles a request whose create handler stopped. Without an order intent, the request is compensated and ends
 * `failed`. With one, the shipment is looked up until it is found or `reconcileForMs` has passed (C6). Returns true if
 * the request was not processed because the run must not call a peer now or is over: the run's report counts it as
 * `deferred`.
 */
export async function reconcileRequest(loaded: LoadedRequest, run: Run, deps: ConnectorDeps): Promise<boolean> {
  const { now, intervals } = deps;
  const request = loaded.request;
  const { sentAt } = request.delivery ?? {};
  if (isLeasedByAnother(request.lease, run, now())) return false;
  const dueAt =
    sentAt === undefined
      ? plus(request.createdAt, intervals.receivedMaxAgeMs)
      : plus(sentAt, intervals.reconcileAfterMs);
  if (dueAt > now()) {
    // The create handler may still be running, so the row is left alone, unless its due time is wrong and would come up
    // again and again.
    if ((request.due?.at ?? dueAt) <= now()) {
      await deps.requests.save(loaded, { request: { ...request, due: { queue: "reconcile", at: dueAt } } });
    }
    return false;
  }
  const lease = () => deps.requests.save(loaded, { request: { ...request, lease: newLease(run, now(), intervals) } });
  if (sentAt === undefined) {
    if (mustDeferKeys(loaded.keys, run, deps)) return true;
    const leased = await lease();
    if (leased !== undefined) await compensateAndFail(leased, run, deps);
    return false;
  }
  const call = async () => {
    const leased = await lease();
    return leased && (await lookUp(leased, sentAt, run, deps)) === "never_confirmed" ? leased : undefined;
  };
  const unconfirmed = await callInTurn(deliveryService, run, deps, call);
  if (unconfirmed === "deferred") return true;
  // Outside the turn at the delivery service, because the compensation waits for the turns of other peers.
  if (unconfirmed !== undefined) await failUnconfirmed(unconfirmed, run, deps);
  return false;
}

async function compensateAndFail(leased: LoadedRequest, run: Run, deps: ConnectorDeps): Promise<void> {
  const request = leased.request;
  const failure = await compensateInTurn(leased, leased.keys, run, deps);
  if (failure !== undefined) {
    const message = request.errorMessage ?? "The completed steps of the request are being reverted.";
    await reconcileLater(leased, message, deps, failure.retryAfterSeconds);
    return;
  }
  const interrupted =
    request.shipment === undefined
      ? "The request was interrupted before it was started."
      : "The request was interrupted and never sent to the delivery service.";
  await failRequest(leased, request.errorMessage ?? interrupted, deps);
}

/**
 * Look-ups before a request ends `failed` if the last one was not answered. By the timer, their back-off takes half a
 * day; on-demand calls do not wait for it. A connector that was stopped or restored later than `reconcileForMs` may be
 * back before the delivery service.
 */
const leastLookUps = 10;

/**
 * Looks up the shipment, and links it or postpones the next look-up. Returns `never_confirmed` and changes nothing if
 * `reconcileForMs` has passed without a shipment, or if the create handler may have stopped before its call and the
 * delivery service does not know the order.
 */
async function lookUp(
  leased: LoadedRequest,
  sentAt: string,
  run: Run,
  deps: ConnectorDeps,
): Promise<"never_confirmed" | undefined> {
  const { requests, now, intervals, log } = deps;
  const request = leased.request;
  const { found, isContested, isUnknown, failure } = await findCandidates(leased, sentAt, run, deps);
  const [shipment] = found;
  if (found.length === 1 && shipment !== undefined) {
    const { errorMessage, lease, ...rest } = request;
    const { missing, ...sent } = request.delivery ?? {};
    const delivery = { ...sent, shipment: { id: shipment.shipmentId, tentative: true } };
    const due = { queue: "poll", at: now(), peer: deliveryService } as const;
    const started = { ...rest, state: startRequest(request.state), delivery, attempts: 0, due };
    const linked = await requests.save(leased, { request: started, keys: withPollDue(leased.keys, deps) });
    // On a conflict the lease expires, and the next look-up sees whether the shipment is linked to another request.
    if (linked !== undefined) log.info("shipment_linked", { shipmentId: shipment.shipmentId });
    return undefined;
  }
  const isKnown = failure === undefined || request.attempts >= leastLookUps;
  if (between(sentAt, now()) > intervals.reconcileForMs && isKnown && !isContested) {
    log.error("shipment_not_found", { candidates: found.length });
    return "never_confirmed";
  }
  const delivery = isUnknown ? withUnknown(request.delivery, now()) : request.delivery;
  if (isUnknown && isNeverOrdered(delivery, now()) && (await canFindOthers(leased, deps))) {
    log.error("shipment_not_found", { candidates: 0 });
    return "never_confirmed";
  }
  const message = request.errorMessage ?? unconfirmedMessage;
  await reconcileLater(withDelivery(leased, delivery), message, deps, failure?.retryAfterSeconds);
  return undefined;
}

const withDelivery = (loaded: LoadedRequest, delivery: Delivery | undefined): LoadedRequest => ({
  ...loaded,
  request: { ...loaded.request, ...(delivery && { delivery }) },
});

/** Compensates a request whose shipment was never found, and ends it, but for authenticators with a response. */
async function failUnconfirmed(leased: LoadedRequest, run: Run, deps: ConnectorDeps): Promise<void> {
  // Authenticators without a response must not be enrolled. A shipment may exist, so nothing is compensated for its
  // security keys.
  const waiting = leased.keys.filter(key => isOnSite(key) && key.state === "processing" && !hasProgressed(key));
  const failure = await compensateInTurn(leased, waiting, run, deps);
  if (failure === undefined) await endUnconfirmed(leased, neverConfirmedMessage, deps);
  else await reconcileLater(leased, neverConfirmedMessage, deps, failure.retryAfterSeconds);
}

/**
 * Releases the lease and schedules the next attempt, with back-off.
 * @param retryAfterSeconds seconds that a peer asked to wait
 */
async function reconcileLater(
  leased: LoadedRequest,
  errorMessage: string,
  deps: ConnectorDeps,
  retryAfterSeconds?: number,
): Promise<void> {
  const { retry } = deps.intervals;
  const request = postponeRequest(leased.request, "reconcile", retry, deps, retryAfterSeconds);
  await deps.requests.save(leased, { request: { ...request, errorMessage } });
}
