import { describe, expect, test } from "vitest";
import { atWrite, inCall } from "../kill-points.ts";
import { deliveryCalls, failedKey, fulfilledKey, neverSent } from "../outcome.ts";
import { ofRequest, writes } from "../writes.ts";
import { laneOfFile } from "./idp-lanes.ts";
import { type KillPoints, killedInActivation, killedInCreate } from "./killed-orders.ts";

const laneNow = laneOfFile({ IDP_DEFAULT: "aic" });
const journey = { method: "POST", path: "/authenticate$" };

describe("a host that is killed in a journey of Advanced Identity Cloud", () => {
  // All calls of a host wait for its first token.
  const first: KillPoints = {
    "while it gets a token": ({ system }) => inCall(system.peers.aic, { method: "POST", path: "/access_token$" }),
  };
  const others: KillPoints = {
    "while it begins the journey": ({ system }) => inCall(system.peers.aic, journey),
    "in the user's step, before it is done": ({ system }) => inCall(system.peers.aic, { ...journey, skip: 1 }),
    "in the user's step, after it is done": ({ system }) =>
      inCall(system.peers.aic, { ...journey, skip: 1, phase: "after" }),
    "after all steps, before their answers are stored": ({ proxy }) => atWrite(proxy, "request", writes.keysAndIntent),
  };
  const { names, lane, outcome } = killedInCreate(laneNow, first, others);

  test.each(names)("%s: ends failed and never sent", async name => {
    expect(await outcome(name)).toEqual(failedKey(neverSent));
    expect(deliveryCalls(lane().system)).toBe(0);
  });
});

describe("a host that is killed while it activates at Advanced Identity Cloud", () => {
  const once = "every credential is registered once";
  const points: KillPoints = {
    [`before the try is recorded: ${once}`]: ({ proxy }, requestId) =>
      atWrite(proxy, "request", ofRequest(requestId, writes.activationTry)),
    [`after the try is recorded, before the call: ${once}`]: ({ proxy }, requestId) =>
      atWrite(proxy, "response", ofRequest(requestId, writes.activationTry)),
    [`in the call, before it is done: ${once}`]: ({ system }) => inCall(system.peers.aic, journey),
  };
  // What was registered cannot be looked up there, and the same answer once more is refused.
  const possibly = "registered once, and reported as possibly registered";
  const doubtful: KillPoints = {
    [`in the call, after it is done: ${possibly}`]: {
      arrange: ({ system }) => inCall(system.peers.aic, { ...journey, phase: "after" }),
      credentials: 2,
    },
    [`after the call, before its result is stored: ${possibly}`]: {
      arrange: ({ proxy }, requestId) => atWrite(proxy, "request", ofRequest(requestId, writes.activation)),
      credentials: 2,
    },
  };
  const { names, lane, outcome } = killedInActivation(laneNow, { ...points, ...doubtful });

  test.each(names)("%s", async name => {
    const doubt = {
      state: "partial",
      credentials: ["failed", "active"],
      errors: ["Login failure (may have been registered: check at the identity provider)"],
      registrations: [1, 1],
    };
    expect(await outcome(name)).toEqual({ ...fulfilledKey, ...(name in doubtful && doubt) });
  });

  test("calls a second time only where it cannot know that the first call was done", () => {
    const credentials = Object.keys(points).length + 2 * Object.keys(doubtful).length;
    // Two steps of each in a create, the last one in an activation.
    expect(lane().system.peers.aic.count("POST", /\/authenticate$/)).toBe(3 * credentials + 3);
  });
});
