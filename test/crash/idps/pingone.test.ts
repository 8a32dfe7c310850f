import { describe, expect, test } from "vitest";
import { atWrite, inCall } from "../kill-points.ts";
import { processCredentialRequests } from "../orders.ts";
import { deliveryCalls, failedKey, fulfilledKey, neverSent } from "../outcome.ts";
import { ofRequest, writes } from "../writes.ts";
import { type Lane, laneOfFile } from "./idp-lanes.ts";
import { type KillPoints, killedInActivation, killedInCreate } from "./killed-orders.ts";

const laneNow = laneOfFile({ IDP_DEFAULT: "pingone" });
const device = "/devices/[^/]+$";
const activations = ({ system }: Lane) => system.peers.pingone.count("POST", /\/devices\/[^/]+$/);

describe("a host that is killed while it creates devices at PingOne", () => {
  const creation = { method: "POST", path: "/devices$" };
  const { names, lane, outcome } = killedInCreate(laneNow, {
    "while it looks for the user": ({ system }) => inCall(system.peers.pingone, { method: "GET", path: "/users$" }),
    "in the call, before it is done": ({ system }) => inCall(system.peers.pingone, creation),
    "in the call, after it is done": ({ system }) => inCall(system.peers.pingone, { ...creation, phase: "after" }),
    "after all calls, before their answers are stored": ({ proxy }) => atWrite(proxy, "request", writes.keysAndIntent),
  });

  test.each(names)("%s: ends failed and never sent", async name => {
    expect(await outcome(name)).toEqual(failedKey(neverSent));
    expect([deliveryCalls(lane().system), activations(lane())]).toEqual([0, 0]);
  });
});

describe("a host that is killed while it activates at PingOne", () => {
  // After an unanswered call the host calls the IdP less often at once, and other work would wait for its turn.
  const unanswered: KillPoints = {
    "while it reads an unanswered activation back": async ({ system }, _, host) => {
      system.peers.pingone.fail({ kind: "drop", phase: "after", method: "POST", path: device });
      await processCredentialRequests(host);
      return inCall(system.peers.pingone, { method: "GET", path: device });
    },
  };
  const others: KillPoints = {
    "before the try is recorded": ({ proxy }, requestId) =>
      atWrite(proxy, "request", ofRequest(requestId, writes.activationTry)),
    "after the try is recorded, before the call": ({ proxy }, requestId) =>
      atWrite(proxy, "response", ofRequest(requestId, writes.activationTry)),
    "in the call, before it is done": ({ system }) => inCall(system.peers.pingone, { method: "POST", path: device }),
    "in the call, after it is done": ({ system }) =>
      inCall(system.peers.pingone, { method: "POST", path: device, phase: "after" }),
    "while it names the device": ({ system }) => inCall(system.peers.pingone, { method: "PUT", path: "/nickname$" }),
    "after the calls, before their result is stored": ({ proxy }, requestId) =>
      atWrite(proxy, "request", ofRequest(requestId, writes.activation)),
    "after the result is stored": ({ proxy }, requestId) =>
      atWrite(proxy, "response", ofRequest(requestId, writes.activation)),
  };
  const { names, lane, outcome } = killedInActivation(laneNow, unanswered, others);

  test.each(names)("%s: every credential is registered once", async name => {
    expect(await outcome(name)).toEqual(fulfilledKey);
  });

  test("calls a second time only where the first call was not done", () => {
    expect(activations(lane())).toBe(names.length + 1);
  });
});
