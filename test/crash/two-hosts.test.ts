import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { HostProcess } from "../support/host/host-process.ts";
import { startTestSystem, type TestSystem } from "../support/host/system.ts";
import { until } from "../support/until.ts";
import { newOrder, type Order, placed, processCredentialRequests, processShipments } from "./orders.ts";
import { activationCalls, deliveryCalls, dueWork, fulfilled, mailCalls, outcome, stepMs } from "./outcome.ts";

let system: TestSystem;
let hosts: readonly [HostProcess, HostProcess];

beforeAll(async () => {
  // Nothing may look like a crash here, however busy the machine is.
  system = await startTestSystem({}, { leaseMs: 180_000, deliveryCallMs: 60_000 });
  hosts = await Promise.all([system.startHost(), system.startHost()]);
});

afterAll(() => system.close());

/** Places the orders, then has both hosts process all at once until nothing is left to do. Answers the requests' ids. */
async function processed(orders: readonly Order[]): Promise<ReadonlyMap<Order, string>> {
  for (const peer of Object.values(system.peers)) peer.resetRequests();
  const waiting = orders.values();
  const requests = new Map<Order, string>();
  const place = async (host: HostProcess) => {
    for (const order of waiting) requests.set(order, await placed(host, order));
  };
  await Promise.all([...hosts, ...hosts].map(place));
  await until(
    async () => {
      await Promise.all(hosts.map(processShipments));
      await Promise.all(hosts.map(processCredentialRequests));
      system.clock.advance(stepMs);
      return (await dueWork(system)).length === 0;
    },
    () => "work stays due",
  );
  return requests;
}

describe("two hosts that process at once", () => {
  test("make 20 activations and 20 mails of 20 ready shipments", async () => {
    const orders = Array.from({ length: 20 }, () => newOrder([1]));
    const requests = await processed(orders);
    expect(deliveryCalls(system)).toBe(20);
    expect(orders.map(order => activationCalls(order, system))).toEqual(Array(20).fill(1));
    expect(mailCalls(system)).toBe(20);
    const end = { ...fulfilled, credentials: ["active"], registrations: [1], mails: [1] };
    for (const [order, requestId] of requests) expect(await outcome(order, requestId, { hosts, system })).toEqual(end);
  });

  test("share the keys of one shipment: each is activated and mailed once, and the request is complete", async () => {
    const keys = [1, 1, 1, 1, 1, 1, 1, 1];
    const orders = Array.from({ length: 2 }, () => newOrder(keys));
    const requests = await processed(orders);
    expect(orders.map(order => activationCalls(order, system))).toEqual(Array(2).fill(8));
    expect(mailCalls(system)).toBe(16);
    const end = { ...fulfilled, credentials: keys.map(() => "active"), registrations: keys, mails: keys };
    for (const [order, requestId] of requests) expect(await outcome(order, requestId, { hosts, system })).toEqual(end);
  });

  test("poll a shipment once: a shipment that one host polls is skipped by the other", async () => {
    const { delivery } = system.peers;
    await placed(hosts[0], newOrder([1]));
    delivery.resetRequests();
    delivery.fail({ kind: "hang", method: "GET", path: "/v1/fpr/shipments/" });
    const first = processShipments(hosts[0]);
    await delivery.untilHanging();
    await processShipments(hosts[1]);
    expect(delivery.count("GET", /\/v1\/fpr\/shipments\//)).toBe(1);
    delivery.release();
    await first;
  });
});
