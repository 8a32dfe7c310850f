import type { LoadedRequest } from "../../../../../../lib/connector/model/loaded-request.ts";
import { between } from "../../../../../../lib/platform/time.ts";
import type { Stage } from "../stage.ts";
import { isWork, rowsOf } from "./rows.ts";

const mostRounds = 40;

/**
 * Runs the jobs by their timers whenever anything of the request is due, for as long as it is; the agent enrolls whatever waits.
 * Returns the request as it then stands.
 */
export async function heal({ connector, peers, requestId }: Stage): Promise<LoadedRequest | undefined> {
  peers.delivery.settings({ shipAfterMs: 0 });
  peers.rfpr.settings({ eager: true });
  let loaded = await connector.context.requests.load(requestId);
  for (let round = 0; round < mostRounds; round++) {
    const dues = loaded === undefined ? [] : rowsOf(loaded).flatMap(({ due }) => due ?? []);
    const [next] = dues.filter(isWork).toSorted((a, b) => (a.at < b.at ? -1 : 1));
    if (next === undefined) break;
    connector.advance(Math.max(0, between(connector.now(), next.at)));
    if (next.queue === "poll" || next.queue === "shipment_key") await connector.runShipments("timer");
    else await connector.runCredentials("timer");
    loaded = await connector.context.requests.load(requestId);
  }
  peers.rfpr.settings({ eager: false });
  return loaded;
}
