import { PeerFailure } from "../../platform/peer-failure.ts";
import { between, type Instant, plus } from "../../platform/time.ts";
import type { ConnectorDeps } from "../deps.ts";
import { orderingMessage, unconfirmedMessage } from "../faults.ts";
import { neverConfirmedMessage } from "../model/idempotency.ts";
import type { LoadedRequest } from "../model/loaded-request.ts";
import { postponeRequest, withPollDue } from "../model/next-due.ts";
import { deliveryService } from "../model/peer-names.ts";
import type { CredentialRequest } from "../model/request.ts";
import { isOnSite } from "../model/security-key.ts";
import { startRequest } from "../model/states.ts";
import { callLeased, leaseRequest } from "../runs/change-request.ts";
import { isLeasedByAnother, notCalled, type Run } from "../runs/run.ts";
import { compensateInTurn } from "./calls-in-turn.ts";
import { endsWithRequest, failedRequest } from "./fail-request.ts";
import { findByReference, findCandidates } from "./unknown-order.ts";

/**
 * Reconciles a request whose create handler stopped. Without an order intent, the request is compensated and ends
 * `failed`. With one, the shipment is looked up until it is found or `reconcileForMs` has passed (C6). Returns true if
 * the look-up was not made because the run must not call the delivery service now or is over: the run's report counts it
 * as `deferred`. A compensation that was not made is postponed, and not counted.
 */
export async function reconcileRequest(loaded: LoadedRequest, run: Run): Promise<boolean> {
  const { now, intervals } = run;
  const request = loaded.request;
  const { sentAt } = request.delivery ?? {};
  if (isLeasedByAnother(request.lease, run)) return false;
  const dueAt =
    sentAt === undefined
      ? plus(request.createdAt, intervals.receivedMaxAgeMs)
      : plus(sentAt, intervals.reconcileAfterMs);
  if (dueAt > now()) {
    // The create handler may still be running, so the row is left alone, unless its due time is wrong and would come up
    // again and again.
    if ((request.due?.at ?? dueAt) <= now()) {
      await run.requests.save(loaded, { request: { ...request, due: { queue: "reconcile", at: dueAt } } });
    }
    return false;
  }
  if (sentAt === undefined) {
    const leased = await leaseRequest(loaded, run);
    if (leased !== undefined) await compensateAndFail(leased, request.errorMessage ?? interrupted(request), run);
    return false;
  }
  const made = await callLeased(loaded, deliveryService, run, () => findByReference(request, sentAt, run));
  if (made === notCalled) return true;
  if (made !== "conflict") await judgeLookUp(made.leased, made.answer, sentAt, run);
  return false;
}

/**
 * Compensates a request that was never ordered, or whose shipment was never found, and ends it. After an order intent a
 * shipment may exist, so nothing is compensated for its security keys.
 */
async function compensateAndFail(leased: LoadedRequest, reason: string, run: Run): Promise<void> {
  const isOrdered = leased.request.delivery?.sentAt !== undefined;
  const keys = leased.keys.filter(key => endsWithRequest(key) && (isOnSite(key) || !isOrdered));
  const failure = await compensateInTurn(leased, keys, run);
  if (failure !== undefined) await reconcileLater(leased, reason, run, failure.retryAfterSeconds);
  else await run.requests.save(leased, failedRequest(leased, reason, run));
}

const interrupted = ({ shipment }: CredentialRequest): string =>
  shipment === undefined
    ? "The request was interrupted before it was started."
    : "The request was interrupted and never sent to the delivery service.";

/**
 * Look-ups before a request ends `failed` if the last one was not answered. By the timer, their back-off takes half a
 * day; on-demand calls do not wait for it. A connector that was stopped or restored later than `reconcileForMs` may be
 * back before the delivery service.
 */
const leastLookUps = 10;

/**
 * Links the shipment that a look-up has found, or postpones the next look-up. Ends the request if `reconcileForMs` has
 * passed without a shipment.
 */
async function judgeLookUp(
  leased: LoadedRequest,
  found: Awaited<ReturnType<typeof findByReference>> | PeerFailure,
  sentAt: Instant,
  run: Run,
): Promise<void> {
  const { requests, now, intervals, log } = run;
  const { errorMessage, lease, ...request } = leased.request;
  const [listed, failure] = found instanceof PeerFailure ? [[], found] : [found, undefined];
  if (failure !== undefined) log.warn("look_up_failed", { error: failure });
  const { candidates, isContested } = await findCandidates(leased, listed, sentAt, run);
  const [shipment] = candidates;
  if (candidates.length === 1 && shipment !== undefined) {
    const delivery = { ...request.delivery, shipment: { id: shipment.shipmentId, tentative: true } };
    const due = { queue: "poll", at: now(), peer: deliveryService } as const;
    const started = { ...request, state: startRequest(request.state), delivery, attempts: 0, due };
    const linked = await requests.save(leased, { request: started, keys: withPollDue(leased.keys, run) });
    // On a conflict the lease expires, and the next look-up sees whether the shipment is linked to another request.
    if (linked !== undefined) log.info("shipment_linked", { shipmentId: shipment.shipmentId });
    return;
  }
  const isKnown = failure === undefined || request.attempts >= leastLookUps;
  if (between(sentAt, now()) > intervals.reconcileForMs && isKnown && !isContested) {
    log.error("shipment_not_found", { candidates: candidates.length });
    return compensateAndFail(leased, neverConfirmedMessage, run);
  }
  const isCrashed = errorMessage === undefined || errorMessage === orderingMessage;
  // The create that stopped has raised no alert.
  if (isCrashed) log.error("delivery_unanswered", { ...(failure && { error: failure }) });
  await reconcileLater(leased, isCrashed ? unconfirmedMessage : errorMessage, run, failure?.retryAfterSeconds);
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
