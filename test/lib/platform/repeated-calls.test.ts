import { afterEach, beforeEach, expect, test } from "vitest";
import * as z from "zod";
import { callPeer, type PeerAccess } from "../../../lib/platform/call-peer.ts";
import { type Peer, startPeer } from "../../../local/peers/peer.ts";
import { failureOf, kindOf, type TestTools, testTools } from "../../support/connector/peer-tools.ts";
import { deadAddress } from "../../support/dead-address.ts";

let peer: Peer;
let tools: TestTools;

beforeEach(async () => {
  peer = await startPeer("thing", { handle: () => ({ status: 200, body: { id: "one" } }) });
  tools = testTools();
});

afterEach(() => peer.close());

const read = (changes: Partial<PeerAccess> = {}, url = `${peer.url}/thing`, signal?: AbortSignal) =>
  callPeer(
    { ...tools, peer: "thing", timeLimitMs: 20_000, ...changes },
    { operation: "read", method: "GET", url, response: z.object({ id: z.string() }), mayRepeat: true, signal },
  );
const asked = () => peer.count("GET", /thing/);

test("repeats a read after temporary failures, at most three attempts in total", async () => {
  peer.fail({ kind: "refuse", status: 500 });
  peer.fail({ kind: "nonsense" });
  expect(await read()).toEqual({ id: "one" });
  expect(asked()).toBe(3);

  peer.fail({ kind: "drop", times: 9 });
  peer.resetRequests();
  expect(await kindOf(read())).toBe("unanswered");
  expect(asked()).toBe(3);
});

test("repeats a read that did not reach a process", async () => {
  expect(await kindOf(read({}, deadAddress))).toBe("unreachable");
  expect(tools.waits).toHaveLength(2);
});

test("doubles the wait each time, half of it at random", async () => {
  peer.fail({ kind: "refuse", times: 99 });
  await failureOf(read({ random: () => new Uint8Array([0]) }));
  expect(tools.waits).toEqual([125, 250]);
  tools.waits.length = 0;
  await failureOf(read({ random: () => new Uint8Array([128]) }));
  expect(tools.waits).toEqual([187.5, 375]);
});

test("waits for a short Retry-After and passes a long one to the caller", async () => {
  peer.fail({ kind: "throttle", retryAfter: 3 });
  expect(await read()).toEqual({ id: "one" });
  expect(tools.waits).toEqual([3000]);

  peer.fail({ kind: "throttle", retryAfter: 60 });
  peer.resetRequests();
  expect(await failureOf(read())).toMatchObject({ kind: "throttled", retryAfterSeconds: 60 });
  expect(asked()).toBe(1);
});

test("repeats a read after a 404 of a proxy, which has no error code of the peer", async () => {
  peer.fail({ kind: "refuse", status: 404 });
  expect(await read()).toEqual({ id: "one" });
  expect(asked()).toBe(2);
});

test.each([400, 401, 403, 409])("does not repeat a read after a %d", async status => {
  peer.fail({ kind: "refuse", status, times: 9 });
  expect(await failureOf(read())).toMatchObject({ status });
  expect(asked()).toBe(1);
});

test("has one time limit for all attempts", async () => {
  peer.fail({ kind: "hang", times: 9 });
  expect(await kindOf(read({ timeLimitMs: 50 }))).toBe("unanswered");
  // On a busy machine the time may be over before the first attempt arrives.
  expect(asked()).toBeLessThan(2);
});

test("throws the last failure if the caller leaves during a wait", async () => {
  peer.fail({ kind: "refuse", status: 502, times: 9 });
  const leaving = new AbortController();
  const sleep: PeerAccess["sleep"] = async (_, signal) => {
    leaving.abort();
    signal.throwIfAborted();
  };
  expect(await failureOf(read({ sleep }, undefined, leaving.signal))).toMatchObject({ status: 502 });
  expect(asked()).toBe(1);
});
