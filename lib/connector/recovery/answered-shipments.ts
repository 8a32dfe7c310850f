import { days, plus } from "../../platform/time.ts";
import type { ConnectorDeps } from "../deps.ts";
import type { CredentialRequest, Delivery, Shipment } from "../model/request.ts";
import { deliveryStateOf } from "../model/shipment.ts";
import { logAndContinue } from "../runs/queue.ts";

/** The states of requests whose shipment the delivery service probably knows, in the order of reading. */
const states = ["started", "complete", "partial"] as const;
/** Older shipments may have been removed from the delivery service, so newer ones are asked for first. */
const maxAgesMs = [days(7), days(30)];
/** The maximum number of requests that are read for each age and state, oldest first. */
const maxRead = 50;

type AnsweredRequest = CredentialRequest & { readonly delivery: Delivery & { readonly shipment: Shipment } };

/**
 * Yields recent requests whose shipment the delivery service has answered for: the first answer sets `stateId`.
 * @param except the ids of requests that are left out
 */
export async function* answeredShipments(
  except: Iterable<string>,
  deps: ConnectorDeps,
): AsyncIterable<AnsweredRequest> {
  const seen = new Set(except);
  for (const maxAgeMs of maxAgesMs) {
    const after = plus(deps.now(), -maxAgeMs);
    for (const state of states) {
      for (const { requestId } of await deps.requests.entries({ state }, { after, top: maxRead })) {
        if (seen.has(requestId)) continue;
        seen.add(requestId);
        const request = await requestOf(requestId, deps);
        const shipment = request?.delivery?.shipment;
        const isKnown = shipment?.stateId !== undefined && deliveryStateOf(shipment) !== "unknown";
        if (request !== undefined && isKnown && shipment.tentative !== true)
          yield { ...request, delivery: { ...request.delivery, shipment } };
      }
    }
  }
}

async function requestOf(requestId: string, deps: ConnectorDeps): Promise<CredentialRequest | undefined> {
  try {
    return (await deps.requests.load(requestId))?.request.value;
  } catch (error) {
    logAndContinue(error, { credentialRequestId: requestId }, deps);
    return undefined;
  }
}
