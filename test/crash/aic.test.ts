import { describe, expect, test } from "vitest";
import { called, type Lane, laneOfFile, pausedWrite } from "./idp-lanes.ts";
import { newOrder, placed, processCredentialRequests, processShipments, requestOf, send } from "./orders.ts";
import { deliveryCalls, failed, fulfilled, outcome, untilQuiet } from "./outcome.ts";
import { writes } from "./writes.ts";

const onLane = laneOfFile({ IDP_DEFAULT: "aic" });
const journey = { method: "POST", path: "/authenticate$" };
const journeyCalls = ({ system }: Lane) => system.peers.aic.count("POST", /\/authenticate$/);

type Arrange = (lane: Lane) => () => Promise<void>;
const neverSent = "The request was interrupted and never sent to the delivery service.";

describe("a host that is killed in a journey of Advanced Identity Cloud", () => {
  test.each<[string, Arrange]>([
    ["while it gets a token", lane => called(lane, "aic", { method: "POST", path: "/access_token$" })],
    ["while it begins the journey", lane => called(lane, "aic", journey)],
    // Three credentials are begun side by side.
    ["in the user's step, before it is done", lane => called(lane, "aic", { ...journey, skip: 3 })],
    ["in the user's step, after it is done", lane => called(lane, "aic", { ...journey, skip: 3, phase: "after" })],
    ["after all steps, before their answers are stored", lane => pausedWrite(lane, "request", writes.keysAndMark)],
  ])("%s: ends failed and never sent", async (_, arrange) => {
    await onLane(async lane => {
      const order = newOrder();
      await lane.killed(host => send(host, order), arrange(lane));
      const requestId = await requestOf(order, lane.system);
      const reconciler = await lane.reconciler();
      await untilQuiet(reconciler, lane.system, requestId);
      const end = await outcome(order, requestId, { hosts: [reconciler], system: lane.system });
      expect(end).toEqual(failed(neverSent));
      expect(deliveryCalls(lane.system)).toBe(0);
    });
  });
});

/** Kills a host that activates. Returns the outcome of the order, and how often the journeys were called meanwhile. */
const killedWhileActivating = (arrange: Arrange) =>
  onLane(async lane => {
    const order = newOrder();
    const requestId = await placed(await lane.host(), order);
    await processShipments(await lane.host());
    lane.system.peers.aic.resetRequests();
    await lane.killed(processCredentialRequests, arrange(lane));
    await untilQuiet(await lane.host(), lane.system, requestId);
    const end = await outcome(order, requestId, { hosts: [await lane.host()], system: lane.system });
    return { end, calls: journeyCalls(lane) };
  });

describe("a host that is killed while it activates at Advanced Identity Cloud", () => {
  test.each<[string, Arrange, number]>([
    ["before the try is recorded", lane => pausedWrite(lane, "request", writes.activationTry), 3],
    ["after the try is recorded, before the call", lane => pausedWrite(lane, "response", writes.activationTry), 3],
    ["in the call, before it is done", lane => called(lane, "aic", journey), 4],
  ])("%s: every credential is registered once", async (_, arrange, calls) => {
    expect(await killedWhileActivating(arrange)).toEqual({ end: fulfilled, calls });
  });

  // What was registered can not be looked up there, and the same answer once more is refused.
  test.each<[string, Arrange]>([
    ["in the call, after it is done", lane => called(lane, "aic", { ...journey, phase: "after" })],
    ["after the call, before its result is stored", lane => pausedWrite(lane, "request", writes.activation)],
  ])("%s: registered once, and reported as possibly registered", async (_, arrange) => {
    const doubtful = {
      state: "partial",
      credentials: ["failed", "active", "active"],
      errors: ["Login failure (may be registered, check)"],
    };
    expect(await killedWhileActivating(arrange)).toEqual({ end: { ...fulfilled, ...doubtful }, calls: 4 });
  });
});
