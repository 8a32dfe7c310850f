import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { eraseRecipient } from "../../../lib/connector/cancel/erase-recipient.ts";
import { sendEvents } from "../../../lib/connector/webhooks/send-events.ts";
import { between, hours, minutes, seconds } from "../../../lib/time.ts";
import { closePeers, idpFile, type Peers, startPeers } from "../../../local/peers/all.ts";
import { newSinkSecret } from "../../support/connector/event-sinks.ts";
import { type TestConnector, testConnector } from "../../support/connector/test-connector.ts";
import { isAnswered, type Order, submit } from "./connector/orders.ts";
import { wrongOutcomes } from "./connector/outcome.ts";
import { type Stage, takeStep } from "./connector/steps.ts";
import { drawBySeed, seeds } from "./draw.ts";
import { createFaults, type Faults } from "./faults.ts";
import { createPlay } from "./play.ts";

const steps = 60;
const shares = { calls: 0.02, requests: 0.05 };

test.each(seeds)(
  "three hosts with random faults fulfil every order once (seed %i)",
  { timeout: 300_000 },
  async seed => {
    const draw = drawBySeed(seed);
    const play = createPlay(draw);
    const { connector, peers } = await openConnector();
    const faults = createFaults({ draw, shares, now: connector.now }, play.note);
    const hosts = ["0", "1", "2"].map(name => hostWith(faults, name, connector));
    const orders: Order[] = [];
    for (let step = 0; step < steps; step++) await takeStep({ draw, play, faults, connector, hosts, peers, orders });

    await play.end(faults);
    await repair({ connector, peers, orders });
    for (const order of orders.filter(() => draw.chance(0.2))) await erase(order, connector);
    await expectErased(orders, connector);
    play.judge(await wrongOutcomes({ orders, peers, connector, hosts: [connector, ...hosts] }));
  },
);

/** A connector with three IdPs and an event sink. The clock of its peers moves with its own. */
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
  const aheadMs = () => Date.parse(connector.now()) - startedAt;
  const startedAt = Date.parse(connector.now());
  vi.spyOn(Date, "now").mockImplementation(() => realNow() + aheadMs());
  return { connector, peers };
}

const hostWith = (faults: Faults, name: string, connector: TestConnector): TestConnector =>
  connector.anotherInstance({
    tables: tables => faults.tables(name, tables),
    fetch: faults.fetch(name),
    ports: ({ sealer, responses }) => ({
      sealer: faults.port(name, sealer, "Key Vault"),
      responses: faults.port(name, responses, "responses", ["put", "remove"]),
    }),
  });

/** Repairs all peers, has callers repeat their orders, and runs the jobs until nothing is due. */
async function repair({ connector, peers, orders }: Pick<Stage, "connector" | "peers" | "orders">): Promise<void> {
  peers.mail.clearFaults();
  peers.delivery.settings({ shipAfterMs: 0 });
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
  // Longer than a sink is not asked after a failure.
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

async function erase(order: Order, { context }: TestConnector): Promise<void> {
  await eraseRecipient({ by: "email", name: order.email }, context);
  order.isErased = true;
}

/** An erasure that has left something is repeated until it has not. */
async function expectErased(orders: readonly Order[], connector: TestConnector): Promise<void> {
  for (const { email } of orders.filter(({ isErased }) => isErased)) {
    const { left } = await eraseRecipient({ by: "email", name: email }, connector.context);
    expect(left).toEqual([]);
  }
}
