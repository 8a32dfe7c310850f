import { PeerFailure } from "../../platform/peer-failure.ts";
import { plus } from "../../platform/time.ts";
import type { LoadedRequest } from "../model/loaded-request.ts";
import { withTrackDue } from "../model/next-due.ts";
import { deliveryService } from "../model/peer-names.ts";
import { type Delivery, isSameDue, shipmentIdOf } from "../model/request.ts";
import { withLostRevoked } from "../model/revocation.ts";
import { afterReport, withDeliveryEnd } from "../model/shipment.ts";
import { saveChanges } from "../runs/change-request.ts";
import { callInTurn, isLeasedByAnother, notCalled, type Run } from "../runs/run.ts";
import type { PollResult } from "./poll-shipment.ts";

/**
 * Asks the delivery service for the state of a shipped order that no credential waits for, and saves it with the
 * tracking number. Does not read the encrypted PIN and credential responses. Takes no lease: the call changes nothing,
 * and the result is saved by version. Skips a request that another run has leased.
 */
export async function trackShipment(loaded: LoadedRequest, run: Run): Promise<PollResult> {
  const { delivery, log, now } = run;
  const shipmentId = shipmentIdOf(loaded.request);
  if (shipmentId === undefined || isLeasedByAnother(loaded.request.lease, run)) return "skipped";
  const answer = await callInTurn(deliveryService, run, () => delivery.getShipment(shipmentId));
  if (answer === notCalled) return "deferred";
  if (!(answer instanceof PeerFailure)) {
    const reported = (known: Delivery = {}): Delivery => ({
      ...known,
      shipment: afterReport(known.shipment ?? { id: shipmentId }, answer, now()),
    });
    return (await saveTracked(loaded, reported, run)) ? "answered" : "skipped";
  }
  log.warn("poll_failed", { shipmentId, error: answer });
  if (answer.kind === "unauthorized") return "unauthorized";
  await saveTracked(loaded, known => known, run, answer.retryAfterSeconds);
  return "failed";
}

/**
 * Saves what is known of a tracked shipment, and when it is asked for next. After `trackForMs` tracking ends. A write of
 * another job, such as that of an activation, does not delay it to the next run. Returns whether it was saved: not if
 * another run has tracked the shipment meanwhile, has the lease, or has deleted the request.
 * @param retryAfterSeconds seconds that the peer asked to wait
 */
async function saveTracked(
  loaded: LoadedRequest,
  reported: (known: Delivery | undefined) => Delivery | undefined,
  run: Run,
  retryAfterSeconds?: number,
): Promise<boolean> {
  const { now, intervals, log } = run;
  let isRevoked = false;
  const saved = await saveChanges(
    loaded,
    ({ request: current, keys: before }) => {
      if (!isSameDue(current.trackDue, loaded.request.trackDue) || isLeasedByAnother(current.lease, run))
        return undefined;
      const delivery = reported(current.delivery);
      const hasEnded = plus(delivery?.shipment?.shippedAt ?? now(), intervals.trackForMs) <= now();
      const tracked = hasEnded && delivery ? withDeliveryEnd(delivery, now()) : delivery;
      const request = { ...current, ...(tracked && { delivery: tracked }) };
      const after = withLostRevoked(before, request, run);
      const keys = after.filter(key => !before.includes(key));
      isRevoked = keys.length > 0;
      return { request: withTrackDue(request, after, run, retryAfterSeconds), keys };
    },
    run,
  );
  if (saved === undefined) log.warn("poll_conflict", {});
  else if (isRevoked) log.info("revocation_requested", { reason: "lost" });
  return saved !== undefined;
}
