import { PeerFailure } from "../../platform/peers/peer-failure.ts";
import type { ConnectorDeps } from "../deps.ts";
import { deliveryService } from "../model/peer-names.ts";
import { callAndLearn, callInTurn } from "../runs/peer-calls.ts";
import { isOver, type Run } from "../runs/run.ts";
import { answeredShipments } from "./answered-shipments.ts";

/** The number of calls without a shipment after which no more are made. */
const maxCalls = 3;

/**
 * What the delivery service says of shipments that it answered for in earlier runs. `answers`: it knows one, so it has deleted the shipments
 * that it does not know. `knows_none`: it does not know those that were asked for, or there are none; the address of the delivery service or
 * the organization of the connector's token is probably wrong. `refused_us`: it does not accept the connector. `not_known`: it does not
 * answer now.
 */
type Answer = "answers" | "knows_none" | "refused_us" | "not_known";

/**
 * Asks the delivery service for up to three shipments of other requests, to find out what its 404s in this run mean (C10).
 * @param missing the ids of the requests whose shipments got a 404 in this run
 */
export async function answersForOthers(
  missing: ReadonlyMap<string, unknown>,
  run: Run,
  deps: ConnectorDeps,
): Promise<Answer> {
  let calls = 0;
  let doubtful = 0;
  for await (const { delivery } of answeredShipments(missing.keys(), deps)) {
    const answer = await callInTurn(deliveryService, run, deps, {
      mayStart: () => !isOver(run, deps),
      call: () => callAndLearn(deliveryService, run, deps, () => deps.delivery.getShipment(delivery.shipmentId)),
    });
    if (answer === "left") return "not_known";
    if (!("error" in answer)) return "answers";
    if (!(answer.error instanceof PeerFailure)) throw answer.error;
    const { kind, code, passing } = answer.error;
    if (kind === "unauthorized") return "refused_us";
    // A 404 without the service's own error code may come from a proxy.
    if (passing || (kind === "missing" && code === undefined)) doubtful += 1;
    calls += 1;
    if (calls === maxCalls) break;
  }
  return calls > 0 && doubtful === calls ? "not_known" : "knows_none";
}
