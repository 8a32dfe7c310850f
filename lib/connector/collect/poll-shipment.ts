import { PeerFailure } from "../../platform/peer-failure.ts";
import type { ConnectorDeps } from "../deps.ts";
import { unconfirmedMessage } from "../faults.ts";
import type { LoadedRequest } from "../model/loaded-request.ts";
import { deliveryService } from "../model/peer-names.ts";
import { type CredentialRequest, shipmentIdOf } from "../model/request.ts";
import { afterReport, deliveryProblem } from "../model/shipment.ts";
import type { DeliveryShipment } from "../peers/delivery-shipment.ts";
import { compensateExpired } from "../recovery/calls-in-turn.ts";
import { callLeased, leaseRequest } from "../runs/change-request.ts";
import { isLeasedByAnother, notCalled, type Run } from "../runs/run.ts";
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
export async function pollShipment(loaded: LoadedRequest, run: Run): Promise<PollResult> {
  const { delivery, log, requests } = run;
  const shipmentId = shipmentIdOf(loaded.request);
  if (shipmentId === undefined || isLeasedByAnother(loaded.request.lease, run)) return "skipped";
  if (isTooLateForAll(loaded, run)) {
    const leased = await leaseRequest(loaded, run);
    if (leased === undefined) return "skipped";
    const { keys } = await decodeShipment(leased, undefined, run);
    await compensateExpired(leased, keys, run);
    await savePoll(leased, leased.request, keys, run);
    return "skipped";
  }
  const made = await callLeased(loaded, deliveryService, run, () => delivery.getShipment(shipmentId));
  if (made === notCalled) return "deferred";
  if (made === "conflict") return "skipped";
  const { leased, answer } = made;
  if (answer instanceof PeerFailure) {
    log.warn("poll_failed", { shipmentId, error: answer });
    const isUnauthorized = answer.kind === "unauthorized";
    if (!isUnauthorized && answer.kind !== "missing") return pollFailed(leased, "The shipment", answer, run);
    const { lease: _, ...unchanged } = leased.request;
    await requests.save(leased, { request: unchanged });
    return isUnauthorized ? "unauthorized" : "missing";
  }
  try {
    await applyShipment(leased, answer, run);
    return "answered";
  } catch (error) {
    if (!(error instanceof PeerFailure)) {
      // Storage or Key Vault may be away: the responses of other security keys are stored already.
      await removeResponsesIfDeleted(leased.request.id, run).catch((failure: unknown) =>
        log.warn("responses_not_removed", { credentialRequestId: leased.request.id, error: failure }),
      );
      throw error;
    }
    // Only the signing keys could not be read, so the shipment is polled again.
    log.warn("signing_keys_unread", { shipmentId, error });
    return pollFailed(leased, "The key maker's signing keys", error, run);
  }
}

async function pollFailed(leased: LoadedRequest, what: string, error: PeerFailure, deps: ConnectorDeps) {
  const errorMessage = `${what} could not be read: ${error.message}`;
  await pollLater(leased, { errorMessage }, deps, error.retryAfterSeconds);
  return "failed" as const;
}

async function applyShipment(leased: LoadedRequest, shipment: DeliveryShipment, run: Run): Promise<void> {
  const { errorMessage, delivery: { missing, ...delivery } = {}, ...rest } = leased.request;
  // The id of the look-up: the service may return it in another form here, and the look-up would find it again.
  const known = delivery.shipment ?? { id: shipment.shipmentId };
  const reported = afterReport(known, shipment, run.now());
  const problem = errorStates.includes(shipment.state.id) ? deliveryProblem(reported) : undefined;

  const { keys, opened } = await decodeShipment(leased, shipment, run);
  const isUnproven = known.tentative === true && opened === 0;
  const owner = isUnproven ? await findShipmentOwner(leased, shipment, run) : "this_request";
  if (owner === "another_request") return unlinkShipment(leased, known.id, run);
  await compensateExpired(leased, keys, run);
  const { tentative, ...confirmed } = reported;
  const linked = owner === "this_request" ? confirmed : reported;
  const request = { ...rest, delivery: { ...delivery, shipment: linked }, ...(problem && { errorMessage: problem }) };
  return savePoll(leased, request, keys, run);
}

/** Unlinks a tentative shipment whose responses are for keys of another request. The look-up continues. */
async function unlinkShipment(leased: LoadedRequest, shipmentId: string, deps: ConnectorDeps): Promise<void> {
  deps.log.error("shipment_link_rejected", { shipmentId });
  const { lease, delivery: { shipment, missing, ...delivery } = {}, ...rest } = leased.request;
  const rejectedShipmentIds = [...(delivery.rejectedShipmentIds ?? []), shipmentId];
  const request: CredentialRequest = {
    ...rest,
    state: "received",
    errorMessage: unconfirmedMessage,
    delivery: { ...delivery, rejectedShipmentIds },
    // The attempts of polls do not count as look-ups, which end the request.
    attempts: 0,
    due: { queue: "reconcile", at: deps.now(), peer: deliveryService },
  };
  await deps.requests.save(leased, { request });
}
