import { orFailure, PeerFailure } from "../../platform/peer-failure.ts";
import type { ConnectorDeps } from "../deps.ts";
import { cancelFault, deletionFault, tooLateToDelete } from "../faults.ts";
import type { LoadedRequest } from "../model/loaded-request.ts";
import { shipmentIdOf } from "../model/request.ts";
import { isProduced } from "../model/shipment.ts";
import type { Run } from "../runs/run.ts";
import { type CancelFate, endCancelRun, renewCancelLease } from "./cancel-lease.ts";

/** Attempts in one run. After that, the job tries again. */
const maxAttempts = 2;

/**
 * Deletes the shipment at the delivery service. The time of the first attempt is stored before the call, and a call
 * without an answer is read back before it is repeated (C19). Throws a Fault if the shipment was not deleted, or if
 * that is not known.
 */
export async function cancelAtDelivery(loaded: LoadedRequest, run: Run, deps: ConnectorDeps): Promise<LoadedRequest> {
  const { delivery, now, log } = deps;
  const shipmentId = shipmentIdOf(loaded.request) ?? "";
  let current = loaded;
  let failure: PeerFailure | undefined;
  for (let tried = 0; tried < maxAttempts; tried++) {
    const { deleteSentAt } = current.request.cancelling ?? {};
    current = await renewCancelLease(current, run, { deleteSentAt: deleteSentAt ?? now() }, deps);
    const error = await orFailure(delivery.deleteShipment(shipmentId));
    if (!(error instanceof PeerFailure)) return current;
    log.warn("shipment_not_deleted", { shipmentId, error });
    if (!error.mayBeDone) {
      // The service no longer knows the shipment after an earlier attempt, so that attempt deleted it.
      if (error.isUnknownThere && deleteSentAt !== undefined) return current;
      const fate = deleteSentAt === undefined ? "dropped" : fateAfter(error);
      throw await endCancelRun(current, run, { fault: deletionFault(error), fate }, deps);
    }
    failure = error;
    const found = await readBack(shipmentId, deps);
    if (found === "deleted") return current;
    // No attempt can delete it any more, and polls do not continue before the cancel has ended.
    if (found === "produced")
      throw await endCancelRun(current, run, { fault: tooLateToDelete(failure), fate: "dropped" }, deps);
    if (found === undefined) break;
  }
  throw await endCancelRun(current, run, { fault: cancelFault(failure), fate: "resumed" }, deps);
}

/** Returns `dropped` only if the service itself refused: otherwise an earlier attempt may have deleted the shipment. */
const fateAfter = ({ kind, code }: PeerFailure): CancelFate =>
  kind === "refused" && code !== undefined ? "dropped" : "resumed";

/** Returns what became of the shipment; undefined if the service is not responding. */
async function readBack(
  shipmentId: string,
  { delivery }: ConnectorDeps,
): Promise<"deleted" | "not_produced" | "produced" | undefined> {
  const found = await orFailure(delivery.getShipment(shipmentId));
  if (found instanceof PeerFailure) return found.isUnknownThere ? "deleted" : undefined;
  return isProduced(found.state.id) ? "produced" : "not_produced";
}
