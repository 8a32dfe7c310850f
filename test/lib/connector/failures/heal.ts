import { between } from "../../../../lib/time.ts";
import type { Stage } from "./stage.ts";

const mostRounds = 40;
const atRest = ["clean", "forget"];

/** Runs the jobs by their timers whenever anything of the request is due, for as long as it is; the agent enrolls whatever waits. */
export async function heal({ connector, peers, requestId }: Stage): Promise<void> {
  peers.rfpr.settings({ eager: true });
  for (let round = 0; round < mostRounds; round++) {
    const loaded = await connector.context.requests.load(requestId);
    const rows = loaded === undefined ? [] : [loaded.request, ...loaded.keys];
    const dues = rows.flatMap(({ value: { due } }) => (due === undefined || atRest.includes(due.queue) ? [] : due.at));
    const [next] = dues.toSorted();
    if (next === undefined) break;
    connector.advance(Math.max(0, between(connector.now(), next)));
    await connector.runShipments("timer");
    await connector.runCredentials("timer");
  }
  peers.rfpr.settings({ eager: false });
}
