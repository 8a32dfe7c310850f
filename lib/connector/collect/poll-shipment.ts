import { PeerFailure } from "../../platform/peer-failure.ts";
import type { ConnectorDeps } from "../deps.ts";
import { unconfirmedMessage } from "../faults.ts";
import type { LoadedRequest } from "../model/loaded-request.ts";
import { deliveryService } from "../model/peer-names.ts";
import { type CredentialRequest, shipmentIdOf } from "../model/request.ts";
import { afterReport, deliveryProblem } from "../model/shipment.ts";
import type { DeliveryShipment } from "../peers/delivery-shipment.ts";
import { compensateExpired } from "../recovery/peers-in-turn.ts";
import { callAndRecord, callInTurn, isLeasedByAnother, newLease, type Run } from "../runs/run.ts";
import { decodeShipment, findShipmentOwner, isTooLateForAll } from "./decode-shipment.ts";
import { pollLater, removeResponsesIfDeleted, savePoll } from "./save-poll.ts";

/**
 * The result of a poll, which the run uses to decide about the other shipments. `deferred`: the time of the run was
 * over before the poll, or the delivery service was not to be called.
 */
export type PollResult = "answered" | "missing" | "unauthorized" | "failed" | "skipped" | "deferred";

/** States that the delivery service documents as errors: their message is shown, and polling continues. */
const errorStates = [8, 9, 99, 105, 106];

/**
 * Asks the delivery service for one shipment and saves its state and responses. Credentials whose response decrypts, is
 * signed by the key maker and matches this request become `activation_pending` (C10, C11).
 */
export async function pollShipment(loaded: LoadedRequest, run: Run, deps: ConnectorDeps): Promise<PollResult> {
  const { now, intervals, delivery, log } = deps;
  const request = loaded.request;
  const shipmentId = shipmentIdOf(request);
  if (shipmentId === undefined || isLeasedByAnother(request.lease, run, now())) return "skipped";
  const call = async () => {
    const lease = newLease(run, now(), intervals);
    const leased = await deps.requests.save(loaded, { request: { ...request, lease } });
    if (leased === undefined || isTooLateForAll(leased, deps)) return { leased };
    return { leased, answer: await callAndRecord(deliveryService, run, deps, () => delivery.getShipment(shipmentId)) };
  };
  const made = await callInTurn(deliveryService, run, deps, call);
  if (made === "deferred") return "deferred";
  const { leased, answer } = made;
  if (leased === undefined) return "skipped";
  if (answer === undefined) {
    const { keys } = await decodeShipment(leased, undefined, deps);
    await compensateExpired(leased, keys, run, deps);
    await savePoll(leased, leased.request, keys, deps);
    return "skipped";
  }
  const failed = async (what: string, error: PeerFailure): Promise<"failed"> => {
    const errorMessage = `${what} could not be read: ${error.message}`;
    await pollLater(leased, { errorMessage }, deps, error.retryAfterSeconds);
    return "failed";
  };
  if (answer instanceof PeerFailure) {
    log.warn("poll_failed", { shipmentId, error: answer });
    const isUnauthorized = answer.kind === "unauthorized";
    if (!isUnauthorized && !answer.isUnknownThere) return failed("The shipment", answer);
    const { lease: _, ...unchanged } = leased.request;
    await deps.requests.save(leased, { request: unchanged });
    return isUnauthorized ? "unauthorized" : "missing";
  }
  try {
    await applyShipment(leased, answer, run, deps);
    return "answered";
  } catch (error) {
    if (!(error instanceof PeerFailure)) {
      // Storage or Key Vault may be away: the responses of other security keys are stored already.
      await removeResponsesIfDeleted(request.id, deps).catch((failure: unknown) =>
        log.warn("responses_not_removed", { credentialRequestId: request.id, error: failure }),
      );
      throw error;
    }
    // Only the signing keys could not be read, so the shipment is polled again.
    log.warn("signing_keys_unread", { shipmentId, error });
    return failed("The key maker's signing keys", error);
  }
}

async function applyShipment(
  leased: LoadedRequest,
  shipment: DeliveryShipment,
  run: Run,
  deps: ConnectorDeps,
): Promise<void> {
  const { state } = shipment;
  const request = leased.request;
  const { missing, ...delivery } = request.delivery ?? {};
  // The id of the look-up: the service may return it in another form here, and the look-up would find it again.
  const known = delivery.shipment ?? { id: shipment.shipmentId };
  const { errorMessage, ...rest } = request;
  const answered = afterReport(known, shipment, deps.now());
  const problem = errorStates.includes(state.id) ? deliveryProblem(answered) : undefined;
  const seen = { ...rest, delivery: { ...delivery, shipment: answered }, ...(problem && { errorMessage: problem }) };

  const { keys, opened } = await decodeShipment(leased, shipment, deps);
  const isUnproven = known.tentative === true && opened === 0;
  const owner = isUnproven ? await findShipmentOwner(leased, shipment, deps) : "this_request";
  if (owner === "another_request") return unlinkShipment(leased, deps);
  await compensateExpired(leased, keys, run, deps);
  return savePoll(leased, owner === "this_request" ? withConfirmedLink(seen) : seen, keys, deps);
}

/** Returns the request with its shipment confirmed, if it was linked tentatively. */
function withConfirmedLink(request: CredentialRequest): CredentialRequest {
  if (request.delivery?.shipment === undefined) return request;
  const { tentative, ...shipment } = request.delivery.shipment;
  return { ...request, delivery: { ...request.delivery, shipment } };
}

/** Unlinks a tentative shipment whose responses are for keys of another request. The look-up continues. */
async function unlinkShipment(leased: LoadedRequest, deps: ConnectorDeps): Promise<void> {
  const request = leased.request;
  const { shipment: { id: shipmentId } = { id: "" }, missing, ...delivery } = request.delivery ?? {};
  deps.log.error("shipment_link_rejected", { shipmentId });
  const { lease, ...rest } = request;
  const rejectedShipmentIds = [...(delivery.rejectedShipmentIds ?? []), shipmentId];
  const due = { queue: "reconcile", at: deps.now(), peer: deliveryService } as const;
  const received = {
    state: "received",
    errorMessage: unconfirmedMessage,
    delivery: { ...delivery, rejectedShipmentIds },
    // The attempts of polls do not count as look-ups, which end the request.
    attempts: 0,
    due,
  } as const;
  await deps.requests.save(leased, { request: { ...rest, ...received } });
}
