import { type Instant, plus } from "../time.ts";
import type { ConnectorDeps, Loaded } from "./ports.ts";
import type { Due } from "./request.ts";
import { startRequest } from "./states.ts";

export interface Created {
  readonly requestId: string;
  readonly shipmentId?: string;
}

/**
 * Writes down the accepted shipment. A creator that was held up writes its id also over what the job has found meanwhile: it
 * was told by the delivery service itself (decision C6).
 */
export async function start(
  marked: Loaded,
  shipmentId: string,
  markedAt: Instant,
  deps: ConnectorDeps,
): Promise<Created> {
  const { requests, now, timing, log } = deps;
  const requestId = marked.request.value.id;
  const due = { queue: "poll", at: plus(now(), timing.pollAfter) } as const;
  const [ours] = await Promise.all([requests.claimShipment(shipmentId, requestId), requests.schedule(due, requestId)]);
  if (!ours) throw new Error("the delivery service gave the id of another request's shipment");
  let loaded: Loaded | undefined = marked;
  while (loaded !== undefined) {
    const request = loaded.request.value;
    const { adopted, ...delivery } = request.delivery ?? {};
    if (!(request.state === "received" || (request.state === "started" && adopted === true))) break;
    const { errorMessage, lease, due: before, ...rest } = request;
    const state = request.state === "received" ? startRequest(request.state) : request.state;
    const started = { ...rest, state, attempts: 0, due, delivery: { ...delivery, sentAt: markedAt, shipmentId } };
    if ((await requests.save(loaded, { request: started })) !== undefined) {
      if (before !== undefined) leave(before, requestId, deps);
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

/** Removes the index row of a request that has left it. The caller does not wait for that: the jobs sweep what stays (decision C15). */
function leave(due: Due, requestId: string, { requests, log }: ConnectorDeps): void {
  requests
    .unschedule(due, requestId)
    .catch((error: unknown) => log.warn("index_row_left", { credentialRequestId: requestId, error }));
}
