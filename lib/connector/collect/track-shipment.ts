import { PeerFailure } from "../../platform/peer-failure.ts";
import { plus } from "../../platform/time.ts";
import type { ConnectorDeps } from "../deps.ts";
import type { LoadedRequest } from "../model/loaded-request.ts";
import { withTrackDue } from "../model/next-due.ts";
import { deliveryService } from "../model/peer-names.ts";
import { type Delivery, shipmentIdOf } from "../model/request.ts";
import { withLostRevoked } from "../model/revocation.ts";
import { afterReport, withDeliveryEnd } from "../model/shipment.ts";
import { callInTurn, isLeasedByAnother, notCalled, type Run } from "../runs/run.ts";
import type { PollResult } from "./poll-shipment.ts";

/**
 * Asks the delivery service for the state of a shipped order that no credential waits for, and saves it with the
 * tracking number. Does not read the encrypted PIN and credential responses. Takes no lease: the call changes nothing,
 * and the result is saved by version. Skips a request that another run has leased.
 */
export async function trackShipment(loaded: LoadedRequest, run: Run): Promise<PollResult> {
  const { delivery, log, now } = run;
  const request = loaded.request;
  const shipmentId = shipmentIdOf(request);
  if (shipmentId === undefined || isLeasedByAnother(request.lease, run)) return "skipped";
  const answer = await callInTurn(deliveryService, run, () => delivery.getShipment(shipmentId));
  if (answer === notCalled) return "deferred";
  if (!(answer instanceof PeerFailure)) {
    const shipment = afterReport(request.delivery?.shipment ?? { id: shipmentId }, answer, now());
    await saveTracked(loaded, { ...request.delivery, shipment }, run);
    return "answered";
  }
  log.warn("poll_failed", { shipmentId, error: answer });
  if (answer.kind === "unauthorized") return "unauthorized";
  await saveTracked(loaded, request.delivery, run, answer.retryAfterSeconds);
  return "failed";
}

/**
 * Saves what is known of a tracked shipment, and when it is asked for next. After `trackForMs` tracking ends.
 * @param retryAfterSeconds seconds that the peer asked to wait
 */
async function saveTracked(
  loaded: LoadedRequest,
  delivery: Delivery | undefined,
  deps: ConnectorDeps,
  retryAfterSeconds?: number,
): Promise<void> {
  const { now, intervals, log } = deps;
  const { shipment } = delivery ?? {};
  const hasEnded = plus(shipment?.shippedAt ?? now(), intervals.trackForMs) <= now();
  const tracked = hasEnded && delivery ? withDeliveryEnd(delivery, now()) : delivery;
  const request = { ...loaded.request, ...(tracked && { delivery: tracked }) };
  const before = loaded.keys;
  const after = withLostRevoked(before, request, deps);
  const keys = after.filter(key => !before.includes(key));
  const changes = { request: withTrackDue(request, after, deps, retryAfterSeconds), keys };
  if ((await deps.requests.save(loaded, changes)) === undefined) log.warn("poll_conflict", {});
  else if (keys.length > 0) log.info("revocation_requested", { reason: "lost" });
}
