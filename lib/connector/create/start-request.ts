import { Fault } from "../../platform/fault.ts";
import { type Instant, plus } from "../../platform/time.ts";
import type { ConnectorDeps } from "../deps.ts";
import { tooLateFault } from "../faults.ts";
import { type Changes, type LoadedRequest, securityKeysOf } from "../model/loaded-request.ts";
import { withPollDue } from "../model/next-due.ts";
import { deliveryService } from "../model/peer-names.ts";
import { type CredentialRequest, type Delivery, shipmentIdOf } from "../model/request.ts";
import { startRequest } from "../model/states.ts";
import { saveChanges } from "../storage/change-request.ts";
import type { CreatedIds } from "./draft.ts";
import { saveFromHandler } from "./save-from-handler.ts";

/**
 * Stores the accepted shipment and starts the request. A delayed handler also replaces a tentative link that the job
 * has found meanwhile: its shipment id comes from the delivery service itself (C6). Throws if the shipment id belongs
 * to another request.
 */
export async function startWithShipment(
  recorded: LoadedRequest,
  shipmentId: string,
  intentAt: Instant,
  deps: ConnectorDeps,
): Promise<CreatedIds> {
  const { requests, now, intervals, log } = deps;
  const requestId = recorded.request.value.id;
  const due = {
    queue: "poll",
    at: plus(now(), intervals.shipmentPoll.minMs),
    peer: deliveryService,
  } as const;
  let latest = recorded;
  const started = async (current: LoadedRequest): Promise<Changes | undefined> => {
    // After a conflict, which a shipment that is linked to another request causes too.
    if (current !== recorded && (await requests.requestOfShipment(shipmentId)) !== requestId)
      throw new Error("the delivery service returned the id of another request's shipment");
    latest = current;
    const request = current.request.value;
    if (!isUnconfirmed(request)) return undefined;
    const { missing, ...delivery } = request.delivery ?? {};
    const { errorMessage, lease, due: before, ...rest } = request;
    const state = request.state === "received" ? startRequest(request.state) : request.state;
    return {
      request: {
        ...rest,
        state,
        attempts: 0,
        due,
        delivery: { ...withShipment(delivery, shipmentId), sentAt: intentAt },
      },
      keys: withPollDue(securityKeysOf(current), deps),
    };
  };
  // The caller does not wait for the removal of the former index rows: a job sweeps rows that remain.
  const saved = await saveChanges(recorded, started, deps, { isUrgent: true });
  if (saved === undefined && shipmentIdOf(latest.request.value) !== shipmentId)
    log.error("shipment_after_end", { credentialRequestId: requestId, shipmentId });
  return { requestId, shipmentId };
}

/** Whether the shipment of an open request is not known, or linked tentatively only. */
export const isUnconfirmed = ({ state, delivery }: CredentialRequest): boolean =>
  state === "received" || (state === "started" && delivery?.shipment?.tentative === true);

/** Returns the delivery with its shipment. A tentative one is rejected, so that even after a crash it is unlinked. */
function withShipment(delivery: Delivery, shipmentId: string): Delivery {
  const { shipment: former, rejectedShipmentIds = [] } = delivery;
  const shipment = { id: shipmentId };
  if (former === undefined) return { ...delivery, shipment };
  if (former.id !== shipmentId)
    return { ...delivery, shipment, rejectedShipmentIds: [...rejectedShipmentIds, former.id] };
  const { tentative, ...confirmed } = former;
  return { ...delivery, shipment: confirmed };
}

/**
 * Starts a request without a shipment after all its authenticators were sent to the pre-registration API. Throws Fault
 * `unavailable` if the job has compensated the request meanwhile, and `internal` if storage is not responding.
 */
export async function startWithoutShipment(enrolled: LoadedRequest, deps: ConnectorDeps): Promise<CreatedIds> {
  const { id, due, ...rest } = enrolled.request.value;
  const started = { ...rest, id, state: startRequest(rest.state) };
  const changes = { request: started, keys: withPollDue(securityKeysOf(enrolled), deps) };
  const written = await saveFromHandler(enrolled, changes, deps).catch((cause: unknown) => {
    // The request may have started, so a storage failure here must not be reported as a call that may be repeated.
    deps.log.error("start_failed", { credentialRequestId: id, error: cause });
    const message = "It is not known whether the request was started; ask for it later.";
    throw new Fault("internal", message, { data: { credential_request_id: id }, cause });
  });
  if (written === undefined) throw tooLateFault();
  return { requestId: id };
}
