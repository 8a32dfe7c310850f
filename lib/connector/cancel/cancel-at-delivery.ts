import { Fault } from "../../fault.ts";
import type { ConnectorDeps, LoadedRequest } from "../deps.ts";
import { PeerFailure } from "../http/failure.ts";
import type { CredentialRequest } from "../model/request.ts";
import type { Run } from "../store/queue.ts";

/** How the request is held while its shipment is deleted. */
interface CancelLease {
  readonly run: Run;
  renewLease(
    loaded: LoadedRequest,
    run: Run,
    more: Partial<NonNullable<CredentialRequest["cancelling"]>>,
    deps: ConnectorDeps,
  ): Promise<LoadedRequest>;
  endRun(
    loaded: LoadedRequest,
    run: Run,
    end: { readonly fault: Fault; readonly next: "ends" | "goes_on" },
    deps: ConnectorDeps,
  ): Promise<Fault>;
}

/** Of one run; after that the job tries again. */
const maxAttempts = 2;

/**
 * Has the delivery service delete the shipment while it still can (decision C19). That it is tried is written down before. An
 * unanswered call is read back before it is made again. Throws a Fault where the shipment is not deleted, or nobody knows.
 */
export async function cancelAtDelivery(
  loaded: LoadedRequest,
  { run, renewLease: hold, endRun: letGo }: CancelLease,
  deps: ConnectorDeps,
): Promise<LoadedRequest> {
  const { delivery, now, log } = deps;
  const shipmentId = loaded.request.value.delivery?.shipmentId ?? "";
  let current = loaded;
  let failure: PeerFailure | undefined;
  for (let tried = 0; tried < maxAttempts; tried++) {
    const { deleteSentAt } = current.request.value.cancelling ?? {};
    current = await hold(current, run, { deleteSentAt: deleteSentAt ?? now() }, deps);
    try {
      await delivery.deleteShipment(shipmentId);
      return current;
    } catch (error) {
      if (!(error instanceof PeerFailure)) throw error;
      log.warn("shipment_not_deleted", { shipmentId, error });
      if (error.kind !== "unanswered") {
        // Unknown to the service after an earlier try: that one has done it.
        if (isUnknown(error) && deleteSentAt !== undefined) return current;
        const next = deleteSentAt === undefined ? "ends" : nextAfter(error);
        throw await letGo(current, run, { fault: deliveryFault(error), next }, deps);
      }
      failure = error;
    }
    const isThere = await readBack(shipmentId, deps);
    if (isThere === false) return current;
    if (isThere === undefined) break;
  }
  const message = "The delivery service does not answer now; the cancel goes on.";
  const fault = new Fault("unavailable", message, { retryAfter: failure?.retryAfter ?? 30, cause: failure });
  throw await letGo(current, run, { fault, next: "goes_on" }, deps);
}

/** The service's own word, not a proxy's. */
const isUnknown = ({ kind, code }: PeerFailure): boolean => kind === "missing" && code !== undefined;

/** An earlier try may have been done: only a "no" of the service itself tells that it was not. */
const nextAfter = ({ kind, code }: PeerFailure): "ends" | "goes_on" =>
  kind === "refused" && code !== undefined ? "ends" : "goes_on";

/** Whether the service has the shipment; undefined where it does not tell. */
async function readBack(shipmentId: string, { delivery }: ConnectorDeps): Promise<boolean | undefined> {
  try {
    await delivery.getShipment(shipmentId);
    return true;
  } catch (error) {
    if (!(error instanceof PeerFailure)) throw error;
    return isUnknown(error) ? false : undefined;
  }
}

function deliveryFault(error: PeerFailure): Fault {
  if (isUnknown(error))
    return new Fault("conflict", "The delivery service does not know the shipment.", { cause: error });
  if (error.kind === "refused") {
    const message = "The delivery service can not delete the shipment any more.";
    return new Fault("conflict", message, { cause: error });
  }
  if (error.kind === "unauthorized")
    return new Fault("internal", "The delivery service does not accept the connector.", { cause: error });
  const message = "The delivery service does not answer now.";
  return new Fault("unavailable", message, { retryAfter: error.retryAfter ?? 30, cause: error });
}
