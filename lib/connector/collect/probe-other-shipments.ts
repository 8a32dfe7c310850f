import { PeerFailure } from "../../platform/peers/peer-failure.ts";
import type { ConnectorDeps } from "../deps.ts";
import { deliveryService } from "../model/peer-names.ts";
import { answeredShipments } from "../recovery/answered-shipments.ts";
import { callAndRecord, callInTurn } from "../runs/peer-calls.ts";
import type { Run } from "../runs/run.ts";

/** The number of calls without a shipment after which no more are made. */
const maxCalls = 3;

/**
 * What the delivery service says of shipments that it returned in earlier runs:
 * - `knows_others`: it knows one, so it has deleted the shipments that it does not know.
 * - `knows_none`: it knows none of those that were asked for, or there are none. Probably its address or the
 *   organization of the connector's token is wrong.
 * - `unauthorized`: it does not accept the connector.
 * - `not_known`: it is not responding.
 */
type ProbeResult = "knows_others" | "knows_none" | "unauthorized" | "not_known";

/**
 * Asks the delivery service for up to three shipments of other requests, to find out what its 404s in this run mean
 * (C10).
 * @param missing the ids of the requests whose shipments got a 404 in this run
 */
export async function probeOtherShipments(
  missing: ReadonlyMap<string, unknown>,
  run: Run,
  deps: ConnectorDeps,
): Promise<ProbeResult> {
  let calls = 0;
  let doubtful = 0;
  for await (const { delivery } of answeredShipments(missing.keys(), deps)) {
    const call = () => deps.delivery.getShipment(delivery.shipment.id);
    const read = await callInTurn(deliveryService, run, deps, () => callAndRecord(deliveryService, run, deps, call));
    if (read === "deferred") return "not_known";
    if (!(read instanceof PeerFailure)) return "knows_others";
    if (read.kind === "unauthorized") return "unauthorized";
    if (read.isTransient || (read.kind === "missing" && !read.isUnknownThere)) doubtful += 1;
    calls += 1;
    if (calls === maxCalls) break;
  }
  return calls > 0 && doubtful === calls ? "not_known" : "knows_none";
}
