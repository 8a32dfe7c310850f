import { PeerFailure } from "../../peers/peer-failure.ts";
import { days, plus } from "../../time.ts";
import type { ConnectorDeps } from "../deps.ts";
import { deliveryService } from "../model/peer-names.ts";
import { callAndLearn, callInTurn } from "../store/peer-calls.ts";
import { logAndContinue } from "../store/queue.ts";
import { isOver, type Run } from "../store/run.ts";

/** The states of requests whose shipment the delivery service may still know, the most probable first. */
const states = ["started", "complete", "partial"] as const;
/** Older shipments may have been removed from the delivery service. */
const maxAgeMs = days(30);
/** The maximum number of requests that are read in each state. */
const maxRead = 20;
const maxCalls = 3;

/**
 * Returns whether the delivery service answers for a shipment of another request that it has answered for before. Then its 404s in this run
 * mean that the shipments were deleted, and not that its address or the organization of the connector's token is wrong (C10).
 * @param missing the ids of the requests whose shipments got a 404 in this run
 */
export async function answersForOthers(
  missing: ReadonlyMap<string, unknown>,
  run: Run,
  deps: ConnectorDeps,
): Promise<boolean> {
  let calls = 0;
  for await (const shipmentId of answeredShipments(missing, deps)) {
    const answer = await callInTurn(deliveryService, run, deps, {
      mayStart: () => !isOver(run, deps),
      call: () => callAndLearn(deliveryService, run, deps, () => deps.delivery.getShipment(shipmentId)),
    });
    if (answer === "left") return false;
    if (!("error" in answer)) return true;
    if (!(answer.error instanceof PeerFailure)) throw answer.error;
    calls += 1;
    if (calls === maxCalls) return false;
  }
  return false;
}

/** Yields the ids of shipments of recent requests that the delivery service has answered for. */
async function* answeredShipments(missing: ReadonlyMap<string, unknown>, deps: ConnectorDeps): AsyncIterable<string> {
  const after = plus(deps.now(), -maxAgeMs);
  for (const state of states) {
    for (const { requestId } of await deps.requests.entries({ state }, { after, top: maxRead })) {
      if (missing.has(requestId)) continue;
      const { shipmentId, stateId, tentative } = (await deliveryOf(requestId, deps)) ?? {};
      if (shipmentId !== undefined && stateId !== undefined && tentative !== true) yield shipmentId;
    }
  }
}

async function deliveryOf(requestId: string, deps: ConnectorDeps) {
  try {
    return (await deps.requests.load(requestId))?.request.value.delivery;
  } catch (error) {
    logAndContinue(error, { credentialRequestId: requestId }, deps);
    return undefined;
  }
}
