import { beforeAll, describe, expect, test } from "vitest";
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
import { deliveryCalls, failedKey, fulfilledKey, type Outcome, outcome, untilQuiet } from "./outcome.ts";
import { ofRequest, writes } from "./writes.ts";

const laneNow = laneOfFile({ IDP_DEFAULT: "aic" });
const journey = { method: "POST", path: "/authenticate$" };
const journeyCalls = ({ system }: Lane) => system.peers.aic.count("POST", /\/authenticate$/);
const neverSent = "The request was interrupted and never sent to the delivery service.";

// Every order has one key: no other call of the host meets the point of the next order.

describe("a host that is killed in a journey of Advanced Identity Cloud", () => {
  type Points = readonly (readonly [name: string, arrange: (lane: Lane) => Point])[];
  // All calls of a host wait for its first token.
  const first: Points = [
    ["while it gets a token", ({ system }) => inCall(system.peers.aic, { method: "POST", path: "/access_token$" })],
  ];
  const others: Points = [
    ["while it begins the journey", ({ system }) => inCall(system.peers.aic, journey)],
    ["in the user's step, before it is done", ({ system }) => inCall(system.peers.aic, { ...journey, skip: 1 })],
    [
      "in the user's step, after it is done",
      ({ system }) => inCall(system.peers.aic, { ...journey, skip: 1, phase: "after" }),
    ],
    ["after all steps, before their answers are stored", ({ proxy }) => atWrite(proxy, "request", writes.keysAndMark)],
  ];
  const points = [...first, ...others];
  const orders = new Map(points.map(([name]) => [name, newOrder([1])]));
  const requests = new Map<Order, string>();
  let lane: Lane;

  beforeAll(async () => {
    lane = laneNow();
    for (const group of [first, others])
      await lane.killed(
        group.map(([name, arrange]) => ({
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
    expect(deliveryCalls(lane.system)).toBe(0);
  });
});

describe("a host that is killed while it activates at Advanced Identity Cloud", () => {
  // What was registered can not be looked up there, and the same answer once more is refused.
  const doubtful: Outcome = {
    ...fulfilledKey,
    state: "partial",
    credentials: ["failed", "active"],
    errors: ["Login failure (may be registered, check)"],
    registrations: [1, 1],
  };
  type Arrange = (lane: Lane, requestId: string) => Point;
  const once = "every credential is registered once";
  const possibly = "registered once, and reported as possibly registered";
  const points: readonly (readonly [name: string, arrange: Arrange, credentials: 1 | 2, end: Outcome])[] = [
    [
      `before the try is recorded: ${once}`,
      ({ proxy }, requestId) => atWrite(proxy, "request", ofRequest(requestId, writes.activationTry)),
      1,
      fulfilledKey,
    ],
    [
      `after the try is recorded, before the call: ${once}`,
      ({ proxy }, requestId) => atWrite(proxy, "response", ofRequest(requestId, writes.activationTry)),
      1,
      fulfilledKey,
    ],
    [`in the call, before it is done: ${once}`, ({ system }) => inCall(system.peers.aic, journey), 1, fulfilledKey],
    [
      `in the call, after it is done: ${possibly}`,
      ({ system }) => inCall(system.peers.aic, { ...journey, phase: "after" }),
      2,
      doubtful,
    ],
    [
      `after the call, before its result is stored: ${possibly}`,
      ({ proxy }, requestId) => atWrite(proxy, "request", ofRequest(requestId, writes.activation)),
      2,
      doubtful,
    ],
  ];
  const orders = new Map(points.map(([name, _, credentials]) => [name, newOrder([credentials])]));
  const requests = new Map<Order, string>();
  let lane: Lane;

  beforeAll(async () => {
    lane = laneNow();
    const host = await lane.host();
    await lane.killed(
      points.map(([name, arrange]) => ({
        name,
        work: processCredentialRequests,
        arrange: async () => {
          const order = orders.get(name) as Order;
          const requestId = await placed(host, order);
          requests.set(order, requestId);
          await processShipments(host);
          return arrange(lane, requestId);
        },
      })),
    );
    await untilQuiet(await lane.host(), lane.system, ...requests.values());
  });

  test.each(points)("%s", async (name, _, __, expected) => {
    const order = orders.get(name) as Order;
    const hosts = [await lane.host()] as const;
    const end = await outcome(order, requests.get(order) ?? "", { hosts, system: lane.system });
    expect(end).toEqual(expected);
  });

  test("calls a second time only where it can not know that the first call was done", () => {
    const credentials = points.reduce((sum, [, , count]) => sum + count, 0);
    // Two steps of each in a create, the last one in an activation.
    expect(journeyCalls(lane)).toBe(3 * credentials + 3);
  });
});
