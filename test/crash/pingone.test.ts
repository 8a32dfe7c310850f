import { describe, expect, test } from "vitest";
import { called, type Lane, laneOfFile, pausedWrite } from "./idp-lanes.ts";
import { newOrder, placed, processCredentialRequests, processShipments, requestOf, send } from "./orders.ts";
import { deliveryCalls, failed, fulfilled, outcome, untilQuiet } from "./outcome.ts";
import { writes } from "./writes.ts";

const onLane = laneOfFile({ IDP_DEFAULT: "pingone" });
const device = "/devices/[^/]+$";
const activations = ({ system }: Lane) => system.peers.pingone.count("POST", /\/devices\/[^/]+$/);

type Arrange = (lane: Lane) => () => Promise<void>;
const neverSent = "The request was interrupted and never sent to the delivery service.";

describe("a host that is killed while it creates devices at PingOne", () => {
  test.each<[string, Arrange]>([
    ["while it looks for the user", lane => called(lane, "pingone", { method: "GET", path: "/users$" })],
    ["in the call, before it is done", lane => called(lane, "pingone", { method: "POST", path: "/devices$" })],
    [
      "in the call, after it is done",
      lane => called(lane, "pingone", { method: "POST", path: "/devices$", phase: "after" }),
    ],
    ["after all calls, before their answers are stored", lane => pausedWrite(lane, "request", writes.keysAndMark)],
  ])("%s: ends failed and never sent", async (_, arrange) => {
    await onLane(async lane => {
      const order = newOrder();
      await lane.killed(host => send(host, order), arrange(lane));
      const requestId = await requestOf(order, lane.system);
      const reconciler = await lane.reconciler();
      await untilQuiet(reconciler, lane.system, requestId);
      const end = await outcome(order, requestId, { hosts: [reconciler], system: lane.system });
      expect(end).toEqual(failed(neverSent));
      expect([deliveryCalls(lane.system), activations(lane)]).toEqual([0, 0]);
    });
  });
});

describe("a host that is killed while it activates at PingOne", () => {
  test.each<[string, Arrange, number]>([
    ["before the try is recorded", lane => pausedWrite(lane, "request", writes.activationTry), 3],
    ["after the try is recorded, before the call", lane => pausedWrite(lane, "response", writes.activationTry), 3],
    ["in the call, before it is done", lane => called(lane, "pingone", { method: "POST", path: device }), 4],
    [
      "in the call, after it is done",
      lane => called(lane, "pingone", { method: "POST", path: device, phase: "after" }),
      3,
    ],
    ["while it names the device", lane => called(lane, "pingone", { method: "PUT", path: "/nickname$" }), 3],
    ["after the calls, before their result is stored", lane => pausedWrite(lane, "request", writes.activation), 3],
    ["after the result is stored", lane => pausedWrite(lane, "response", writes.activation), 3],
  ])("%s: every credential is registered once", async (_, arrange, calls) => {
    await onLane(async lane => {
      const order = newOrder();
      const requestId = await placed(await lane.host(), order);
      await processShipments(await lane.host());
      lane.system.peers.pingone.resetRequests();
      await lane.killed(processCredentialRequests, arrange(lane));
      await untilQuiet(await lane.host(), lane.system, requestId);
      const end = await outcome(order, requestId, { hosts: [await lane.host()], system: lane.system });
      expect(end).toEqual(fulfilled);
      expect(activations(lane)).toBe(calls);
    });
  });

  test("while it reads an unanswered activation back: every credential is registered once", async () => {
    await onLane(async lane => {
      const order = newOrder([1]);
      const requestId = await placed(await lane.host(), order);
      await processShipments(await lane.host());
      lane.system.peers.pingone.resetRequests();
      lane.system.peers.pingone.fail({ kind: "drop", phase: "after", method: "POST", path: device });
      await processCredentialRequests(await lane.host());
      await lane.killed(processCredentialRequests, called(lane, "pingone", { method: "GET", path: device }));
      await untilQuiet(await lane.host(), lane.system, requestId);
      const end = await outcome(order, requestId, { hosts: [await lane.host()], system: lane.system });
      const one = { credentials: ["active"], registrations: [1], mails: [1] };
      expect(end).toEqual({ ...fulfilled, ...one });
      expect(activations(lane)).toBe(1);
    });
  });
});
