import { orFailure, PeerFailure } from "../../platform/peer-failure.ts";
import type { ConnectorDeps } from "../deps.ts";
import { cancelFault, deletionFault, tooLateToDelete } from "../faults.ts";
import { shipmentIdOf } from "../model/request.ts";
import { isProduced } from "../model/shipment.ts";
import type { CancelWork } from "./cancel-work.ts";

/** Attempts in one run. After that, the job tries again. */
const maxAttempts = 2;

/**
 * Deletes the shipment at the delivery service. The time of the first attempt is stored before the call, and a call
 * without an answer is read back before it is repeated (C19). Throws a Fault if the shipment was not deleted, or if
 * that is not known.
 */
export async function cancelAtDelivery(work: CancelWork, deps: ConnectorDeps): Promise<void> {
  const { delivery, now, log } = deps;
  const shipmentId = shipmentIdOf(work.loaded.request) ?? "";
  let failure: PeerFailure | undefined;
  for (let tried = 0; tried < maxAttempts; tried++) {
    const { deleteSentAt } = work.loaded.request.cancelling ?? {};
    await work.renewLease({ deleteSentAt: deleteSentAt ?? now() });
    const error = await orFailure(delivery.deleteShipment(shipmentId));
    if (!(error instanceof PeerFailure)) return;
    log.warn("shipment_not_deleted", { shipmentId, error });
    if (!error.mayBeDone) {
      // The service no longer knows the shipment after an earlier attempt, so that attempt deleted it.
      if (error.kind === "missing" && deleteSentAt !== undefined) return;
      // An earlier attempt may have deleted the shipment, unless the service itself refuses.
      const isDropped = deleteSentAt === undefined || (error.kind === "refused" && error.code !== undefined);
      throw await (isDropped ? work.drop(deletionFault(error)) : work.resumeLater(deletionFault(error)));
    }
    failure = error;
    const found = await orFailure(delivery.getShipment(shipmentId));
    if (found instanceof PeerFailure) {
      if (found.kind === "missing") return;
      break;
    }
    // No attempt can delete it any more, and polls do not continue before the cancel has ended.
    if (isProduced(found.state.id)) throw await work.drop(tooLateToDelete(failure));
  }
  throw await work.resumeLater(cancelFault(failure));
}
