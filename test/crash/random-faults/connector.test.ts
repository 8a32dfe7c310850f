import { expect, test } from "vitest";
import { eraseRecipient } from "../../../lib/connector/cancel/erase-recipient.ts";
import type { TestConnector } from "../../support/connector/test-connector.ts";
import { newOrder, type Order } from "./connector/orders.ts";
import { wrongOutcomes } from "./connector/outcome.ts";
import { takeStep } from "./connector/steps.ts";
import { openConnector, repair } from "./connector/system.ts";
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

const hostWith = (faults: Faults, name: string, connector: TestConnector): TestConnector =>
  connector.anotherInstance({
    tables: tables => faults.tables(name, tables),
    fetch: faults.fetch(name),
    ports: ({ sealer, responses }) => ({
      sealer: faults.port(name, sealer, "Key Vault"),
      responses: faults.port(name, responses, "responses", ["put", "removeOf", "removeAll"]),
    }),
  });

/** Erases the recipients of orders. Returns what is left. */
async function erase(orders: readonly Order[], { context }: TestConnector): Promise<readonly string[]> {
  const reports = [];
  for (const order of orders) {
    reports.push(await eraseRecipient({ by: "email", name: order.email }, context, { leaveActive: true }));
    order.isErased = true;
  }
  return reports.flatMap(({ left }) => left.map(each => `not erased: ${JSON.stringify(each)}`));
}
