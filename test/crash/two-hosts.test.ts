import { afterAll, beforeAll, expect, test } from "vitest";
import type { HostProcess } from "../support/host-process.ts";
import { startTestSystem, type TestSystem } from "../support/system.ts";
import { until } from "../support/until.ts";
import { newOrder, placed, processCredentialRequests, processShipments } from "./orders.ts";
import { activationCalls, dueWork, fulfilled, mailCalls, outcome } from "./outcome.ts";

const count = 50;

let system: TestSystem;
let hosts: readonly [HostProcess, HostProcess];

beforeAll(async () => {
  // Nothing may look like a crash here, however busy the machine is.
  system = await startTestSystem({
    LEASE_SECONDS: "180",
    IDP_TIMEOUT_SECONDS: "30",
    MAIL_TIMEOUT_SECONDS: "30",
    DELIVERY_TIMEOUT_SECONDS: "60",
    RECEIVED_MAX_AGE_SECONDS: "300",
    SETTLE_AFTER_SECONDS: "900",
  });
  hosts = await Promise.all([system.startHost(), system.startHost()]);
});

afterAll(() => system.close());

test(`two hosts that process ${count} ready shipments at once make ${count} activations and ${count} mails (decision C15)`, async () => {
  const orders = Array.from({ length: count }, () => newOrder([1]));
  const waiting = orders.values();
  const requests = new Map<(typeof orders)[number], string>();
  const place = async (host: HostProcess) => {
    for (const order of waiting) requests.set(order, await placed(host, order));
  };
  await Promise.all([...hosts, ...hosts].map(place));
  expect(system.peers.delivery.count("POST", /^\/v1\/fpr\/shipments$/)).toBe(count);

  await until(
    async () => {
      await Promise.all(hosts.map(processShipments));
      await Promise.all(hosts.map(processCredentialRequests));
      return (await dueWork(system)).length === 0;
    },
    () => "work stays due",
    90_000,
  );

  expect(orders.map(order => activationCalls(order, system))).toEqual(Array(count).fill(1));
  expect(mailCalls(system)).toBe(count);
  const [host] = hosts;
  for (const [order, requestId] of requests)
    expect(await outcome(order, requestId, { host, system })).toEqual({
      ...fulfilled,
      credentials: ["active"],
      registrations: [1],
      mails: [1],
    });
}, 120_000);
