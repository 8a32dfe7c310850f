import { plus } from "../../platform/time.ts";
import { pollLater, savePoll } from "../collect/save-poll.ts";
import type { ConnectorDeps } from "../deps.ts";
import { type LoadedRequest, securityKeysOf } from "../model/loaded-request.ts";
import { isOnSite } from "../model/request.ts";
import { endWaiting } from "../model/roll-up.ts";
import { withPurgeDue } from "../runs/next-due.ts";
import { isLeasedByAnother, newLease, type Run } from "../runs/run.ts";
import { compensateInTurn } from "./peers-in-turn.ts";

/**
 * Counts a 404 with the delivery service's own error object. After 3 of them over at least `shipmentMissingMs`, the
 * shipment counts as cancelled (C10): the registrations that were started at the IdPs are removed, and its security keys end. Waits for an
 * IdP that is not responding; not for one that refuses. Call it only if the service has answered for other shipments. Does nothing while
 * another run polls the shipment: it may get responses, and counts a 404 itself.
 */
export async function countMissingShipment(loaded: LoadedRequest, run: Run, deps: ConnectorDeps): Promise<void> {
  const { now, intervals, log } = deps;
  const request = loaded.request.value;
  if (isLeasedByAnother(request.lease, run, now())) return;
  const missing = {
    count: (request.delivery?.missing?.count ?? 0) + 1,
    since: request.delivery?.missing?.since ?? now(),
  };
  const delivery = { ...request.delivery, missing };
  const changes = { delivery, errorMessage: "The delivery service does not know the shipment." };
  if (missing.count < 3 || plus(missing.since, intervals.shipmentMissingMs) > now())
    return pollLater(loaded, changes, deps);

  const leased = await deps.requests.save(loaded, { request: { ...request, lease: newLease(run, now(), intervals) } });
  if (leased === undefined) return;
  const ordered = securityKeysOf(leased).filter(key => !isOnSite(key));
  const failure = await compensateInTurn(leased, ordered, run, deps);
  if (failure?.isTransient === true) {
    const message = `The shipment was deleted at the delivery service. ${failure.peer} is not responding yet.`;
    return pollLater(leased, { delivery, errorMessage: message }, deps, failure.retryAfter);
  }
  log.warn("shipment_cancelled", { shipmentId: delivery.shipment?.id });
  const errorMessage = "The shipment was deleted at the delivery service.";
  const ended = ordered.map(key => withPurgeDue(endWaiting(key, "cancelled", errorMessage, now()), deps));
  return savePoll(leased, { ...leased.request.value, delivery, errorMessage }, ended, deps);
}
