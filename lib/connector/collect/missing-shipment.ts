import { plus } from "../../time.ts";
import type { ConnectorDeps, LoadedRequest } from "../deps.ts";
import { endWaiting } from "../model/roll-up.ts";
import { withPurgeDue } from "../store/next-due.ts";
import { pollLater, savePoll } from "./save-poll.ts";

/**
 * Counts a 404 with the delivery service's own error object. After 3 of them over at least `shipmentMissingMs`, the
 * shipment counts as cancelled (C10). Call it only if the service has answered for other shipments in this run.
 */
export async function countMissingShipment(loaded: LoadedRequest, deps: ConnectorDeps): Promise<void> {
  const { now, intervals, log } = deps;
  const request = loaded.request.value;
  const missing = {
    count: (request.delivery?.missing?.count ?? 0) + 1,
    since: request.delivery?.missing?.since ?? now(),
  };
  const delivery = { ...request.delivery, missing };
  if (missing.count < 3 || plus(missing.since, intervals.shipmentMissingMs) > now())
    return pollLater(loaded, { delivery, errorMessage: "The delivery service does not know the shipment." }, deps);

  log.warn("shipment_cancelled", { shipmentId: delivery.shipmentId });
  const errorMessage = "The shipment was deleted at the delivery service.";
  const shipped = loaded.keys.map(({ value }) => value).filter(({ provisioning }) => provisioning === "shipped");
  const ended = shipped.map(key => withPurgeDue(endWaiting(key, "cancelled", errorMessage, now()), deps));
  return savePoll(loaded, { ...request, delivery, errorMessage }, ended, deps);
}
