import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished, vi } from "vitest";
import { sendEvents } from "../../../../lib/connector/events/send-events.ts";
import { between, hours, minutes, seconds } from "../../../../lib/platform/time.ts";
import { closePeers, idpFile, type Peers, startPeers } from "../../../../local/peers/all.ts";
import { newSinkSecret } from "../../../support/connector/event-sinks.ts";
import { type TestConnector, testConnector } from "../../../support/connector/test-connector.ts";
import type { Limits } from "../../../support/host/limits.ts";
import { isAnswered, type Order, submit } from "./orders.ts";

/** A connector with three IdPs and an event sink. The clock of its peers follows its own. */
export async function openConnector(limits: Limits = {}): Promise<{ connector: TestConnector; peers: Peers }> {
  const peers = await startPeers();
  peers.delivery.settings({ shipAfterMs: 0, search: true });
  peers.vault.set("event-sink-1", newSinkSecret());
  const directory = mkdtempSync(join(tmpdir(), "idps-"));
  const path = join(directory, "idps.yaml");
  writeFileSync(path, idpFile(peers));
  onTestFinished(async () => {
    rmSync(directory, { recursive: true });
    await closePeers(peers);
  });
  const settings = {
    IDP_ENABLE_MULTI_IDP: "true",
    IDP_CONFIGURATION_PATH: path,
    EVENT_SINK_URLS: `${peers.sink.url}/hook`,
  };
  const connector = await testConnector(peers, { settings, limits });
  const realNow = Date.now;
  const startedAt = Date.parse(connector.now());
  vi.spyOn(Date, "now").mockImplementation(() => realNow() + Date.parse(connector.now()) - startedAt);
  return { connector, peers };
}

/** Repairs all peers, has callers repeat their orders, and runs the jobs until nothing is due. */
export async function repair({
  connector,
  peers,
  orders,
}: {
  readonly connector: TestConnector;
  readonly peers: Peers;
  readonly orders: readonly Order[];
}): Promise<void> {
  peers.mail.clearFaults();
  peers.delivery.settings({ shipAfterMs: 0 });
  for (const { id } of await peers.delivery.shipments())
    await peers.delivery.control(id, { ship: true, sabotage: null });
  peers.rfpr.settings({ eager: true });
  for (let round = 0; orders.some(order => !isAnswered(order)) && round < 50; round++) {
    for (const order of orders.filter(each => !isAnswered(each))) await submit(order, connector).catch(() => undefined);
    connector.advance(minutes(30));
    await runJobs(connector);
  }
  for (let round = 0; round < 200; round++) {
    const due = (await Promise.all(queues.map(connector.queue))).flat().map(({ at }) => at);
    const [next] = due.toSorted();
    if (next === undefined) break;
    // A stale row of the index is due until it is old enough to be removed.
    connector.advance(Math.max(minutes(10), between(connector.now(), next)) + seconds(1));
    await runJobs(connector);
  }
  // A sink that failed is not called for a while: three days are longer than the longest pause.
  for (let day = 0; day < 3; day++) {
    connector.advance(hours(24));
    await runJobs(connector);
  }
}

/** Queues of work that must end; the others wait for retention periods. */
const queues = ["reconcile", "poll", "key"] as const;

async function runJobs(connector: TestConnector): Promise<void> {
  await connector.runShipments("timer");
  await connector.runCredentials("timer");
  await sendEvents(connector.context);
}
