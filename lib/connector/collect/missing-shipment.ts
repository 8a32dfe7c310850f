import { plus } from "../../platform/time.ts";
import type { ConnectorDeps } from "../deps.ts";
import type { LoadedRequest } from "../model/loaded-request.ts";
import { withPurgeDue } from "../model/next-due.ts";
import type { Delivery } from "../model/request.ts";
import { endWaiting } from "../model/roll-up.ts";
import { isOnSite } from "../model/security-key.ts";
import { withDeliveryEnd } from "../model/shipment.ts";
import { compensateInTurn } from "../recovery/calls-in-turn.ts";
import { leaseRequest } from "../runs/change-request.ts";
import { isLeasedByAnother, type Run } from "../runs/run.ts";
import { pollLater, savePoll } from "./save-poll.ts";

/**
 * Counts a 404 with the delivery service's own error object. After 3 of them over at least `shipmentMissingMs`, the
 * shipment counts as cancelled (C10): the registrations that were started at the IdPs are removed, and its security
 * keys end. Waits for an IdP that is not responding; not for one that refuses. Call it only if the service has answered
 * for other shipments. Does nothing while another run polls the shipment: it may get responses, and counts a 404
 * itself.
 */
export async function countMissingShipment(loaded: LoadedRequest, run: Run): Promise<void> {
  const { now, log } = run;
  const request = loaded.request;
  if (isLeasedByAnother(request.lease, run)) return;
  const { missing } = request.delivery ?? {};
  const delivery = {
    ...request.delivery,
    missing: { count: (missing?.count ?? 0) + 1, since: missing?.since ?? now() },
  };
  const changes = { delivery, errorMessage: "The delivery service does not know the shipment." };
  if (!isGone(delivery, run)) return pollLater(loaded, changes, run);

  const leased = await leaseRequest(loaded, run);
  if (leased === undefined) return;
  const ordered = leased.keys.filter(key => !isOnSite(key));
  const failure = await compensateInTurn(leased, ordered, run);
  if (failure?.isTransient === true) {
    const message = `The shipment was deleted at the delivery service. ${failure.peer} is not responding yet.`;
    return pollLater(leased, { delivery, errorMessage: message }, run, failure.retryAfterSeconds);
  }
  log.warn("shipment_cancelled", { shipmentId: delivery.shipment?.id });
  const errorMessage = "The shipment was deleted at the delivery service.";
  const ended = ordered.map(key => withPurgeDue(endWaiting(key, "cancelled", errorMessage, now()), run));
  const ending = { ...leased.request, delivery: withDeliveryEnd(delivery, now()), errorMessage };
  return savePoll(leased, ending, ended, run);
}

/** Whether enough 404s were counted, over enough time, for a shipment that was deleted. */
const isGone = ({ missing }: Delivery, { now, intervals }: ConnectorDeps): boolean =>
  missing !== undefined && missing.count >= 3 && plus(missing.since, intervals.shipmentMissingMs) <= now();
