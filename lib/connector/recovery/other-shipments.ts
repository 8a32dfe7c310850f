import { PeerFailure } from "../../platform/peer-failure.ts";
import { days, plus } from "../../platform/time.ts";
import type { ConnectorDeps } from "../deps.ts";
import { deliveryService } from "../model/peer-names.ts";
import type { CredentialRequest, Shipment } from "../model/request.ts";
import { deliveryStateOf } from "../model/shipment.ts";
import { logAndContinue } from "../runs/queue.ts";
import { callInTurn, notCalled, type Run } from "../runs/run.ts";

/** The states of requests whose shipment the delivery service probably knows, in the order of reading. */
const states = ["started", "complete", "partial"] as const;
/** Older shipments may have been removed from the delivery service, so newer ones are asked for first. */
const maxAgesMs = [days(7), days(30)];
/** The maximum number of requests that are read for each age and state, oldest first. */
const maxRead = 50;

/**
 * Yields the recent shipments that the delivery service has answered for: the first answer sets `stateId`.
 * @param except the ids of requests that are left out
 */
async function* answeredShipments(except: Iterable<string>, deps: ConnectorDeps): AsyncIterable<Shipment> {
  const seen = new Set(except);
  for (const maxAgeMs of maxAgesMs) {
    const after = plus(deps.now(), -maxAgeMs);
    for (const state of states) {
      for (const { requestId } of await deps.requests.entries({ state }, { after, top: maxRead })) {
        if (seen.has(requestId)) continue;
        seen.add(requestId);
        const shipment = (await requestOf(requestId, deps))?.delivery?.shipment;
        const isKnown = shipment?.stateId !== undefined && deliveryStateOf(shipment) !== "unknown";
        if (isKnown && shipment.tentative !== true) yield shipment;
      }
    }
  }
}

async function requestOf(requestId: string, deps: ConnectorDeps): Promise<CredentialRequest | undefined> {
  try {
    return (await deps.requests.load(requestId))?.request;
  } catch (error) {
    logAndContinue(error, { credentialRequestId: requestId }, deps);
    return undefined;
  }
}

/** The number of calls without a shipment after which no more are made. */
const maxCalls = 3;

/**
 * What the delivery service says of shipments that it returned in earlier runs:
 * - `knows_others`: it knows one, so it has deleted the shipments that it does not know.
 * - `knows_none`: it returned none of those that were asked for, and did answer for one, or there are none to ask for.
 *   Probably its address or the organization of the connector's token is wrong.
 * - `unauthorized`: it does not accept the connector.
 * - `undecided`: no call got an answer of the service itself, or the run must not call it.
 */
type ProbeResult = "knows_others" | "knows_none" | "unauthorized" | "undecided";

/**
 * Asks the delivery service for up to three shipments of other requests, to find out what its 404s in this run mean
 * (C10).
 * @param missing the ids of the requests whose shipments got a 404 in this run
 */
export async function probeOtherShipments(missing: ReadonlyMap<string, unknown>, run: Run): Promise<ProbeResult> {
  let calls = 0;
  let doubtful = 0;
  for await (const { id } of answeredShipments(missing.keys(), run)) {
    const read = await callInTurn(deliveryService, run, () => run.delivery.getShipment(id));
    if (read === notCalled) return "undecided";
    if (!(read instanceof PeerFailure)) return "knows_others";
    if (read.kind === "unauthorized") return "unauthorized";
    if (read.isTransient) doubtful += 1;
    calls += 1;
    if (calls === maxCalls) break;
  }
  return calls > 0 && doubtful === calls ? "undecided" : "knows_none";
}
