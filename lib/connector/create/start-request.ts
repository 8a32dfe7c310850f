import { Fault } from "../../fault.ts";
import { type Instant, plus } from "../../time.ts";
import type { ConnectorDeps, LoadedRequest } from "../deps.ts";
import type { CreatedRequest } from "../model/draft.ts";
import { listKeyOf } from "../model/people-lists.ts";
import type { CredentialRequest, Due } from "../model/request.ts";
import { startRequest } from "../model/states.ts";
import { withPollDue } from "../store/next-due.ts";
import { saveFromHandler, tooLate } from "./save-from-handler.ts";

/**
 * Writes down the accepted shipment. A creator that was held up writes its id also over what the job has found meanwhile: it
 * was told by the delivery service itself (decision C6).
 */
export async function startShipped(
  marked: LoadedRequest,
  shipmentId: string,
  markedAt: Instant,
  deps: ConnectorDeps,
): Promise<CreatedRequest> {
  const { requests, now, intervals: timing, log } = deps;
  const requestId = marked.request.value.id;
  const due = { queue: "poll", at: plus(now(), timing.pollAfter) } as const;
  const polls = withPollDue(marked, deps);
  const [ours] = await Promise.all([
    requests.claimShipment(shipmentId, requestId),
    requests.schedule(due, requestId),
    requests.enter(listKeyOf(marked.request.value), [{ state: "started" }]),
    ...polls.map(key => key.due && requests.schedule(key.due, requestId, key.id)),
  ]);
  if (!ours) throw new Error("the delivery service gave the id of another request's shipment");
  let loaded: LoadedRequest | undefined = marked;
  while (loaded !== undefined) {
    const request = loaded.request.value;
    const { adopted, ...delivery } = request.delivery ?? {};
    if (!(request.state === "received" || (request.state === "started" && adopted === true))) break;
    const { errorMessage, lease, due: before, ...rest } = request;
    const state = request.state === "received" ? startRequest(request.state) : request.state;
    const started = { ...rest, state, attempts: 0, due, delivery: { ...delivery, sentAt: markedAt, shipmentId } };
    const keys = withPollDue(loaded, deps, polls);
    if ((await requests.save(loaded, { request: started, keys })) !== undefined) {
      leave(request, before, deps);
      const { shipmentId: stranger = shipmentId } = delivery;
      if (stranger !== shipmentId) await requests.releaseShipment(stranger, requestId);
      return { requestId, shipmentId };
    }
    loaded = await requests.load(requestId);
  }
  if (loaded?.request.value.delivery?.shipmentId !== shipmentId)
    log.error("shipment_after_end", { credentialRequestId: requestId, shipmentId });
  return { requestId, shipmentId };
}

/**
 * Starts a request of which nothing is shipped, as soon as every authenticator was handed over (decision C6). Throws Fault: `unavailable`
 * where the job has taken it back meanwhile, `internal` where storage does not tell.
 */
export async function startOnSite(enrolled: LoadedRequest, deps: ConnectorDeps): Promise<CreatedRequest> {
  const { id, due, ...rest } = enrolled.request.value;
  const started = { ...rest, id, state: startRequest(rest.state) };
  const changes = { request: started, keys: withPollDue(enrolled, deps) };
  const isOurs = (now: LoadedRequest) => now.keys.some(({ value }) => value.enrollment !== undefined);
  const written = await saveFromHandler(enrolled, changes, isOurs, deps).catch((cause: unknown) => {
    // Storage that fails here must not look like a call that may be repeated: the request may have started.
    deps.log.error("start_failed", { credentialRequestId: id, error: cause });
    const message = "It is not known whether the request was started; ask for it later.";
    throw new Fault("internal", message, { data: { credential_request_id: id }, cause });
  });
  if (written === undefined) throw tooLate();
  return { requestId: id };
}

/** Removes the index rows of what a request was. The caller does not wait for that: what stays is swept (decisions C15, C19). */
function leave(request: CredentialRequest, before: Due | undefined, { requests, log }: ConnectorDeps): void {
  const { id, state } = request;
  const leaving = Promise.all([
    before && requests.unschedule(before, id),
    state === "received" && requests.leave(listKeyOf(request), [{ state }]),
  ]);
  leaving.catch((error: unknown) => log.warn("index_row_left", { credentialRequestId: id, error }));
}
