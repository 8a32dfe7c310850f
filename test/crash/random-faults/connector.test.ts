import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { eraseRecipient } from "../../../lib/connector/cancel/erase-recipient.ts";
import { sendEvents } from "../../../lib/connector/events/send-events.ts";
import { between, hours, minutes, seconds } from "../../../lib/platform/time.ts";
import { closePeers, idpFile, type Peers, startPeers } from "../../../local/peers/all.ts";
import { newSinkSecret } from "../../support/connector/event-sinks.ts";
import { type TestConnector, testConnector } from "../../support/connector/test-connector.ts";
import { isAnswered, newOrder, type Order, submit } from "./connector/orders.ts";
import { wrongOutcomes } from "./connector/outcome.ts";
import { type StepContext, takeStep } from "./connector/steps.ts";
import { createFaults, type Faults } from "./faults.ts";
import { seededRandom, seeds } from "./random.ts";
import { withLog } from "./random-run.ts";

const steps = 60;
const probabilities = { calls: 0.02, requests: 0.05 };

test.each(seeds)(
  "three hosts with random faults fulfil no order twice, and lose none (seed %i)",
  { timeout: 300_000 },
  async seed => {
    const random = seededRandom(seed);
    await withLog(random, async run => {
      const { connector, peers } = await openConnector();
      const faults = createFaults({ random, probabilities, now: connector.now }, run.log);
      const hosts = ["0", "1", "2"].map(name => hostWith(faults, name, connector));
      const orders: Order[] = [];
      for (let step = 0; step < steps; step++) await takeStep({ random, run, faults, connector, hosts, peers, orders });

      await run.end(faults);
      const last = newOrder(random);
      orders.push(last);
      await repair({ connector, peers, orders });
      expect((await connector.requestRow(last.requestId ?? "")).state, "an order after the repair").toBe("complete");
      const left = await erase(
        orders.filter(() => random.chance(0.2)),
        connector,
      );
      const wrong = await wrongOutcomes({ orders, peers, connector, hosts: [connector, ...hosts] });
      expect([...run.unexpectedErrors, ...left, ...wrong]).toEqual([]);
    });
  },
);

/** A connector with three IdPs and an event sink. The clock of its peers follows its own. */
async function openConnector(): Promise<{ connector: TestConnector; peers: Peers }> {
  const peers = await startPeers();
  peers.delivery.settings({ shipAfterMs: 0, search: true });
  peers.mail.quota(undefined);
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
  const connector = await testConnector(peers, { settings });
  const realNow = Date.now;
  const startedAt = Date.parse(connector.now());
  vi.spyOn(Date, "now").mockImplementation(() => realNow() + Date.parse(connector.now()) - startedAt);
  return { connector, peers };
}

const hostWith = (faults: Faults, name: string, connector: TestConnector): TestConnector =>
  connector.anotherInstance({
    tables: tables => faults.tables(name, tables),
    fetch: faults.fetch(name),
    ports: ({ sealer, responses }) => ({
      sealer: faults.port(name, sealer, "Key Vault"),
      responses: faults.port(name, responses, "responses", ["put", "removeOf", "removeAll"]),
    }),
  });

/** Repairs all peers, has callers repeat their orders, and runs the jobs until nothing is due. */
async function repair({
  connector,
  peers,
  orders,
}: Pick<StepContext, "connector" | "peers" | "orders">): Promise<void> {
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
    connector.advance(Math.max(0, between(connector.now(), next)) + seconds(1));
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

/** Erases the recipients of orders. Returns what is left. */
async function erase(orders: readonly Order[], { context }: TestConnector): Promise<readonly string[]> {
  const reports = [];
  for (const order of orders) {
    reports.push(await eraseRecipient({ by: "email", name: order.email }, context));
    order.isErased = true;
  }
  return reports.flatMap(({ left }) => left.map(each => `not erased: ${JSON.stringify(each)}`));
}
