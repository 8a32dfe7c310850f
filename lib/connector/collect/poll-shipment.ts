import type { ConnectorDeps, LoadedRequest } from "../deps.ts";
import { unconfirmedMessage } from "../faults.ts";
import { PeerFailure } from "../http/failure.ts";
import { deliveryReport } from "../model/delivery-states.ts";
import type { CredentialRequest } from "../model/request.ts";
import type { DeliveryShipment } from "../peers/delivery-wire.ts";
import { isLeasedByAnother, newLease, type Run } from "../store/queue.ts";
import { saveRequest } from "../store/save-request.ts";
import { decodeShipment, hasNoneWaiting } from "./decode-shipment.ts";
import { pollLater, savePoll } from "./save-poll.ts";

/** What a poll learned, for the run as a whole (decision C10). */
export type PollResult = "answered" | "missing" | "refused_us" | "failed" | "skipped";

/** States that the service calls errors: recorded, polled again. Its word on the others is kept with its state (decision C10). */
const errorStates = [8, 9, 99, 105, 106];

/**
 * Asks the delivery service for one shipment and takes over what is ready: credentials whose response opens, is signed and
 * answers this request become `activation_pending` (decisions C10, C11, C15).
 */
export async function pollShipment(loaded: LoadedRequest, run: Run, deps: ConnectorDeps): Promise<PollResult> {
  const { now, intervals: timing, delivery, log } = deps;
  const request = loaded.request.value;
  const shipmentId = request.delivery?.shipmentId;
  if (shipmentId === undefined || isLeasedByAnother(request.lease, run, now())) return "skipped";
  const claimed = await saveRequest(loaded, { request: { ...request, lease: newLease(run, now(), timing) } }, deps);
  if (claimed === undefined) return "skipped";
  if (hasNoneWaiting(claimed, deps)) {
    const { keys } = await decodeShipment(claimed, undefined, deps);
    await savePoll(claimed, claimed.request.value, keys, deps);
    return "skipped";
  }
  const failed = async (error: PeerFailure): Promise<"failed"> => {
    const errorMessage = `The delivery service did not answer: ${error.message}`;
    await pollLater(claimed, { errorMessage }, deps, error.retryAfter);
    return "failed";
  };
  let shipment: DeliveryShipment;
  try {
    shipment = await delivery.getShipment(shipmentId);
  } catch (error) {
    if (!(error instanceof PeerFailure)) throw error;
    log.warn("poll_failed", { shipmentId, error });
    const unchanged = error.kind === "unauthorized" || (error.kind === "missing" && error.code !== undefined);
    if (!unchanged) return failed(error);
    await release(claimed, deps);
    return error.kind === "missing" ? "missing" : "refused_us";
  }
  try {
    await takeOver(claimed, shipment, deps);
    return "answered";
  } catch (error) {
    // The signing keys: what they answer says nothing of the shipment.
    if (!(error instanceof PeerFailure)) throw error;
    log.warn("signing_keys_failed", { shipmentId, error });
    return failed(error);
  }
}

/** Gives the claim back and changes nothing else. */
async function release(claimed: LoadedRequest, deps: ConnectorDeps): Promise<void> {
  const { lease: _, ...request } = claimed.request.value;
  await saveRequest(claimed, { request }, deps);
}

async function takeOver(claimed: LoadedRequest, shipment: DeliveryShipment, deps: ConnectorDeps): Promise<void> {
  const { state } = shipment;
  const request = claimed.request.value;
  const { missing, message, ...delivery } = request.delivery ?? {};
  const { errorMessage, ...rest } = request;
  const told = { ...delivery, stateId: state.id, ...(state.message && { message: state.message }) };
  const problem = errorStates.includes(state.id) ? deliveryReport(told) : undefined;
  const seen: CredentialRequest = { ...rest, delivery: told, ...(problem && { errorMessage: problem }) };

  const { keys, opened, unopened } = await decodeShipment(claimed, shipment, deps);
  if (request.delivery?.adopted === true && opened === 0 && unopened > 0)
    return disown(claimed, shipment.shipmentId, deps);
  return savePoll(claimed, opened > 0 ? confirmed(seen) : seen, keys, deps);
}

function confirmed(request: CredentialRequest): CredentialRequest {
  const { adopted, ...delivery } = request.delivery ?? {};
  return { ...request, delivery };
}

/** An adopted shipment whose responses are not for this request's keys: another's. The look-up goes on (decision C6). */
async function disown(claimed: LoadedRequest, shipmentId: string, deps: ConnectorDeps): Promise<void> {
  const request = claimed.request.value;
  deps.log.error("shipment_disowned", { shipmentId });
  const { shipmentId: _, adopted, stateId, message, missing, ...delivery } = request.delivery ?? {};
  const { lease, ...rest } = request;
  const strangers = [...(delivery.strangers ?? []), shipmentId];
  const due = { queue: "reconcile", at: deps.now() } as const;
  const unsettled = {
    state: "received",
    errorMessage: unconfirmedMessage,
    delivery: { ...delivery, strangers },
    due,
  } as const;
  const saved = await saveRequest(claimed, { request: { ...rest, ...unsettled } }, deps);
  if (saved !== undefined) await deps.requests.releaseShipment(shipmentId, request.id);
}
