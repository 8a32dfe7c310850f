import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { resetPeers } from "../support/connector/reset-peers.ts";
import type { HostProcess } from "../support/host/host-process.ts";
import { startTestSystem, type TestSystem } from "../support/host/system.ts";
import { newOrder, type Order, placed, processCredentialRequests, processShipments } from "./orders.ts";
import { activationCalls, deliveryCalls, mailCalls, untilQuiet } from "./outcome.ts";

const leaseMs = 180_000;
let system: TestSystem;
let hosts: readonly [HostProcess, HostProcess];

beforeAll(async () => {
  // Nothing may look like a crash here, however busy the machine is.
  system = await startTestSystem({}, { leaseMs, deliveryCallMs: 60_000 });
  hosts = await Promise.all([system.startHost(), system.startHost()]);
});

afterAll(() => system.close());

beforeEach(() => resetPeers(system.peers));

/** Expects that the requests are complete, and that each key was registered and mailed by one call. */
async function expectFulfilledOnce(requests: ReadonlyMap<Order, string>): Promise<void> {
  let keys = 0;
  for (const [order, requestId] of requests) {
    const { body } = await hosts[0].call("GET", `/v2/credential-requests/${requestId}`);
    expect(body).toMatchObject({ data: { state: "complete" } });
    expect(activationCalls(order, system)).toBe(order.users.length);
    for (const user of order.users) expect(system.peers.entra.registrations(user)).toHaveLength(1);
    const items = order.body.shipment.shipment_items.length;
    expect(system.peers.mail.mails().filter(({ to }) => to.includes(order.email))).toHaveLength(items);
    keys += items;
  }
  expect(mailCalls(system)).toBe(keys);
}

/** Places the orders by both hosts. */
async function placeAll(orders: readonly Order[]): Promise<ReadonlyMap<Order, string>> {
  const waiting = orders.values();
  const requests = new Map<Order, string>();
  const place = async (host: HostProcess) => {
    for (const order of waiting) requests.set(order, await placed(host, order));
  };
  await Promise.all([...hosts, ...hosts].map(place));
  return requests;
}

describe("two hosts that process at once", () => {
  test.each([
    ["10 ready shipments", 10, [1]],
    ["the keys of two shipments", 2, [1, 1, 1, 1]],
  ])("order, activate and mail each key of %s once", async (_, count, keys) => {
    const requests = await placeAll(Array.from({ length: count }, () => newOrder(keys)));
    await untilQuiet(hosts, system);
    expect(deliveryCalls(system)).toBe(count);
    await expectFulfilledOnce(requests);
  });
});

test.each(["killed", "stopped past its lease"])(
  "two hosts finish the work of a third that is %s while the IdP registers a credential: nothing is doubled",
  async how => {
    const { entra } = system.peers;
    const third = await system.startHost();
    const requests = await placeAll([newOrder([1])]);
    await processShipments(third);
    entra.fail({ kind: "hang", method: "POST", path: "fido2Methods$", phase: "after" });
    const ended = processCredentialRequests(third).catch(() => "lost");
    await entra.untilHanging();
    if (how === "killed") await third.kill();
    else third.signal("SIGSTOP");
    system.clock.advance(leaseMs);
    await untilQuiet(hosts, system);
    entra.release();
    if (how === "killed") expect(await ended).toBe("lost");
    else third.signal("SIGCONT");
    await ended;
    await untilQuiet(hosts, system);
    await expectFulfilledOnce(requests);
  },
);
