import { beforeAll, describe, expect, test } from "vitest";
import type { HostProcess } from "../support/host/host-process.ts";
import { type Lane, laneOfFile } from "./idp-lanes.ts";
import { atWrite, inCall, type Point } from "./kill-points.ts";
import {
  newOrder,
  type Order,
  placed,
  processCredentialRequests,
  processShipments,
  requestOf,
  send,
} from "./orders.ts";
import { deliveryCalls, failedKey, fulfilledKey, outcome, untilQuiet } from "./outcome.ts";
import { ofRequest, writes } from "./writes.ts";

const laneNow = laneOfFile({ IDP_DEFAULT: "pingone" });
const device = "/devices/[^/]+$";
const activations = ({ system }: Lane) => system.peers.pingone.count("POST", /\/devices\/[^/]+$/);
const neverSent = "The request was interrupted and never sent to the delivery service.";

// Every order has one key with one credential: no other call of the host meets the point of the next order.

describe("a host that is killed while it creates devices at PingOne", () => {
  const points: readonly (readonly [name: string, arrange: (lane: Lane) => Point])[] = [
    ["while it looks for the user", ({ system }) => inCall(system.peers.pingone, { method: "GET", path: "/users$" })],
    [
      "in the call, before it is done",
      ({ system }) => inCall(system.peers.pingone, { method: "POST", path: "/devices$" }),
    ],
    [
      "in the call, after it is done",
      ({ system }) => inCall(system.peers.pingone, { method: "POST", path: "/devices$", phase: "after" }),
    ],
    ["after all calls, before their answers are stored", ({ proxy }) => atWrite(proxy, "request", writes.keysAndMark)],
  ];
  const orders = new Map(points.map(([name]) => [name, newOrder([1])]));
  const requests = new Map<Order, string>();
  let lane: Lane;

  beforeAll(async () => {
    lane = laneNow();
    await lane.killed(
      points.map(([name, arrange]) => ({
        name,
        arrange: () => arrange(lane),
        work: host => send(host, orders.get(name) as Order),
      })),
    );
    for (const order of orders.values()) requests.set(order, await requestOf(order, lane.system));
    await untilQuiet(await lane.reconciler(), lane.system, ...requests.values());
  });

  test.each(points)("%s: ends failed and never sent", async name => {
    const order = orders.get(name) as Order;
    const hosts = [await lane.reconciler()] as const;
    const end = await outcome(order, requests.get(order) ?? "", { hosts, system: lane.system });
    expect(end).toEqual(failedKey(neverSent));
    expect([deliveryCalls(lane.system), activations(lane)]).toEqual([0, 0]);
  });
});

describe("a host that is killed while it activates at PingOne", () => {
  type Arrange = (lane: Lane, requestId: string, host: HostProcess) => Point | Promise<Point>;
  type Points = readonly (readonly [name: string, arrange: Arrange])[];
  // After an unanswered call the host calls the IdP less often at once, and other work would wait for its turn.
  const unanswered: Points = [
    [
      "while it reads an unanswered activation back",
      async ({ system }, _, host) => {
        system.peers.pingone.fail({ kind: "drop", phase: "after", method: "POST", path: device });
        await processCredentialRequests(host);
        return inCall(system.peers.pingone, { method: "GET", path: device });
      },
    ],
  ];
  const others: Points = [
    [
      "before the try is recorded",
      ({ proxy }, requestId) => atWrite(proxy, "request", ofRequest(requestId, writes.activationTry)),
    ],
    [
      "after the try is recorded, before the call",
      ({ proxy }, requestId) => atWrite(proxy, "response", ofRequest(requestId, writes.activationTry)),
    ],
    ["in the call, before it is done", ({ system }) => inCall(system.peers.pingone, { method: "POST", path: device })],
    [
      "in the call, after it is done",
      ({ system }) => inCall(system.peers.pingone, { method: "POST", path: device, phase: "after" }),
    ],
    ["while it names the device", ({ system }) => inCall(system.peers.pingone, { method: "PUT", path: "/nickname$" })],
    [
      "after the calls, before their result is stored",
      ({ proxy }, requestId) => atWrite(proxy, "request", ofRequest(requestId, writes.activation)),
    ],
    [
      "after the result is stored",
      ({ proxy }, requestId) => atWrite(proxy, "response", ofRequest(requestId, writes.activation)),
    ],
  ];
  const points = [...unanswered, ...others];
  const orders = new Map(points.map(([name]) => [name, newOrder([1])]));
  const requests = new Map<Order, string>();
  let lane: Lane;

  beforeAll(async () => {
    lane = laneNow();
    for (const group of [unanswered, others]) {
      const host = await lane.host();
      await lane.killed(
        group.map(([name, arrange]) => ({
          name,
          work: processCredentialRequests,
          arrange: async () => {
            const order = orders.get(name) as Order;
            const requestId = await placed(host, order);
            requests.set(order, requestId);
            await processShipments(host);
            return arrange(lane, requestId, host);
          },
        })),
      );
      await untilQuiet(await lane.host(), lane.system, ...requests.values());
    }
  });

  test.each(points)("%s: every credential is registered once", async name => {
    const order = orders.get(name) as Order;
    const hosts = [await lane.host()] as const;
    const end = await outcome(order, requests.get(order) ?? "", { hosts, system: lane.system });
    expect(end).toEqual(fulfilledKey);
  });

  test("calls a second time only where the first call was not done", () => {
    expect(activations(lane)).toBe(points.length + 1);
  });
});
