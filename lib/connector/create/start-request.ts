import { Fault } from "../../fault.ts";
import { type Instant, plus } from "../../time.ts";
import type { ConnectorDeps, LoadedRequest } from "../deps.ts";
import { tooLateFault } from "../faults.ts";
import type { CreatedIds } from "../model/draft.ts";
import { listKeyOf } from "../model/people-lists.ts";
import type { CredentialRequest, Due } from "../model/request.ts";
import { startRequest } from "../model/states.ts";
import { withPollDue } from "../store/next-due.ts";
import { saveFromHandler } from "./save-from-handler.ts";

/**
 * Stores the accepted shipment and starts the request. A delayed handler also replaces a tentative link that the job has found meanwhile:
 * its shipment id comes from the delivery service itself (C6). Throws if the shipment id belongs to another request.
 */
export async function startWithShipment(
  recorded: LoadedRequest,
  shipmentId: string,
  intentAt: Instant,
  deps: ConnectorDeps,
): Promise<CreatedIds> {
  const { requests, now, intervals: timing, log } = deps;
  const requestId = recorded.request.value.id;
  const due = { queue: "poll", at: plus(now(), timing.shipmentPoll.minMs) } as const;
  const polls = withPollDue(recorded, deps);
  const [isLinked] = await Promise.all([
    requests.linkShipment(shipmentId, requestId),
    requests.schedule(due, requestId),
    requests.enter(listKeyOf(recorded.request.value), [{ state: "started" }]),
    ...polls.map(key => key.due && requests.schedule(key.due, requestId, key.id)),
  ]);
  if (!isLinked) throw new Error("the delivery service gave the id of another request's shipment");
  let loaded: LoadedRequest | undefined = recorded;
  while (loaded !== undefined) {
    const request = loaded.request.value;
    const { tentative, ...delivery } = request.delivery ?? {};
    if (!(request.state === "received" || (request.state === "started" && tentative === true))) break;
    const { errorMessage, lease, due: before, ...rest } = request;
    const state = request.state === "received" ? startRequest(request.state) : request.state;
    const started = { ...rest, state, attempts: 0, due, delivery: { ...delivery, sentAt: intentAt, shipmentId } };
    const keys = withPollDue(loaded, deps, polls);
    if ((await requests.save(loaded, { request: started, keys })) !== undefined) {
      removeOldIndexRows(request, before, deps);
      const { shipmentId: tentativeId = shipmentId } = delivery;
      if (tentativeId !== shipmentId) await requests.unlinkShipment(tentativeId, requestId);
      return { requestId, shipmentId };
    }
    loaded = await requests.load(requestId);
  }
  if (loaded?.request.value.delivery?.shipmentId !== shipmentId)
    log.error("shipment_after_end", { credentialRequestId: requestId, shipmentId });
  return { requestId, shipmentId };
}

/**
 * Starts a request without a shipment after all its authenticators were sent to the pre-registration API. Throws Fault `unavailable` if the
 * job has compensated the request meanwhile, and `internal` if storage does not answer.
 */
export async function startWithoutShipment(enrolled: LoadedRequest, deps: ConnectorDeps): Promise<CreatedIds> {
  const { id, due, ...rest } = enrolled.request.value;
  const started = { ...rest, id, state: startRequest(rest.state) };
  const changes = { request: started, keys: withPollDue(enrolled, deps) };
  const isOurs = (now: LoadedRequest) => now.keys.some(({ value }) => value.enrollment !== undefined);
  const written = await saveFromHandler(enrolled, changes, isOurs, deps).catch((cause: unknown) => {
    // The request may have started, so a storage failure here must not be reported as a call that may be repeated.
    deps.log.error("start_failed", { credentialRequestId: id, error: cause });
    const message = "It is not known whether the request was started; ask for it later.";
    throw new Fault("internal", message, { data: { credential_request_id: id }, cause });
  });
  if (written === undefined) throw tooLateFault();
  return { requestId: id };
}

/** Removes the index rows of a request's former state, without waiting for it: a job sweeps rows that remain (C15). */
function removeOldIndexRows(
  request: CredentialRequest,
  before: Due | undefined,
  { requests, log }: ConnectorDeps,
): void {
  const { id, state } = request;
  const removals = Promise.all([
    before && requests.unschedule(before, id),
    state === "received" && requests.leave(listKeyOf(request), [{ state }]),
  ]);
  removals.catch((error: unknown) => log.warn("index_row_left", { credentialRequestId: id, error }));
}
