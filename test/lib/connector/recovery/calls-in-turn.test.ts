import { expect, test } from "vitest";
import type { SecurityKey } from "../../../../lib/connector/model/security-key.ts";
import { callsInTurn } from "../../../../lib/connector/recovery/calls-in-turn.ts";
import { compensateAtIdp } from "../../../../lib/connector/recovery/compensate.ts";
import { startRun } from "../../../../lib/connector/runs/run.ts";
import { PeerFailure } from "../../../../lib/platform/peer-failure.ts";
import { plus } from "../../../../lib/platform/time.ts";
import { peersOfFile, recordCompensated, testConnector } from "../../../support/connector/test-connector.ts";

const peers = await peersOfFile();
const throttled = new PeerFailure("IdP entra", "compensate", "throttled", { status: 429, retryAfterSeconds: 90 });
const refused = new PeerFailure("IdP entra", "compensate", "unauthorized", { status: 401 });

/** Returns how a run makes calls under a lease that starts now, and a call to an IdP. */
async function callsOfRun() {
  const connector = await testConnector(peers);
  const { context, now } = connector;
  const run = startRun("timer", context);
  const inTurn = callsInTurn(plus(now(), context.intervals.leaseMs), run);
  const calls: string[] = [];
  const call = (failure?: PeerFailure) =>
    inTurn("IdP entra", context.intervals.idpCallMs, async () => {
      calls.push(now());
      if (failure !== undefined) throw failure;
    });
  return { connector, call, calls };
}

test("a peer that has answered 429 gets no call before the end of its pause, and the caller learns when that is", async () => {
  const { connector, call, calls } = await callsOfRun();
  await expect(call(throttled)).rejects.toBe(throttled);
  connector.advance(30_500);
  await expect(call()).rejects.toMatchObject({ kind: "unreachable", retryAfterSeconds: 60 });
  expect(calls).toHaveLength(1);
});

test("a peer that fails three times in a row gets no more calls of the run", async () => {
  const { call, calls } = await callsOfRun();
  for (const _ of [1, 2, 3]) await expect(call(refused)).rejects.toBe(refused);
  await expect(call()).rejects.toMatchObject({ kind: "unreachable", retryAfterSeconds: undefined });
  expect(calls).toHaveLength(3);
});

test("a peer gets no call that may outlast the lease", async () => {
  const { connector, call, calls } = await callsOfRun();
  const { leaseMs, idpCallMs } = connector.context.intervals;
  connector.advance(leaseMs - idpCallMs);
  await call();
  connector.advance(1);
  await expect(call()).rejects.toMatchObject({ kind: "unreachable" });
  expect(calls).toHaveLength(1);
});

test("an IdP that keeps no state takes no turn, so that its pause delays no compensation", async () => {
  const compensated: unknown[] = [];
  const { context } = await testConnector(peers, { ports: recordCompensated(compensated as []) });
  const key: SecurityKey = {
    id: "s-01-001",
    provisioning: "shipped",
    state: "processing",
    credentials: [{ userId: "ada", idpId: "entra", state: "processing" }],
    mail: { state: "none", number: 0 },
  };
  const makeCall = () => Promise.reject(new Error("took a turn"));
  await compensateAtIdp("request", key, 0, { ...context, makeCall }, { userId: "ada" });
  expect(compensated).toEqual([{ userId: "ada" }]);
});
