import { expect, test } from "vitest";
import type { SecurityKey } from "../../../../lib/connector/model/security-key.ts";
import { mustDeferKeys, peersInTurn } from "../../../../lib/connector/recovery/peers-in-turn.ts";
import { recordCall, startRun } from "../../../../lib/connector/runs/run.ts";
import { PeerFailure } from "../../../../lib/platform/peer-failure.ts";
import { plus } from "../../../../lib/platform/time.ts";
import { idpsOf, peersOfFile, testConnector } from "../../../support/connector/test-connector.ts";

const peers = await peersOfFile();

/** Creates an IdP in its turn, under a lease that starts now. Returns it with the calls that it gets. */
async function idpInTurn({ keepsState = true } = {}) {
  const calls: unknown[] = [];
  const connector = await testConnector(peers, {
    ports: context => ({
      idps: idpsOf(context, () => ({
        compensate: async state => void calls.push(state),
        ...(keepsState && { compensateUnanswered: async () => {} }),
      })),
    }),
  });
  const { context } = connector;
  const leaseUntil = plus(connector.now(), context.intervals.leaseMs);
  const run = startRun("timer", context);
  const { idps } = peersInTurn(context, leaseUntil, run, context);
  const compensate = () => idps.get("entra")?.compensate({}, AbortSignal.timeout(1000));
  return { connector, run, compensate, calls };
}

test("a peer that has answered 429 gets no call before the end of its pause, and the caller learns when that is", async () => {
  const { connector, compensate, calls } = await idpInTurn();
  const throttled = new PeerFailure("IdP entra", "compensate", "throttled", { status: 429, retryAfterSeconds: 90 });
  connector.context.peerLimits.of("IdP entra").pauseAfter(throttled);
  connector.advance(30_500);
  await expect(compensate()).rejects.toMatchObject({ kind: "throttled", retryAfterSeconds: 60 });
  expect(calls).toEqual([]);
});

test("an IdP that keeps no state is compensated also during its pause, because that makes no call", async () => {
  const { connector, run, compensate, calls } = await idpInTurn({ keepsState: false });
  const throttled = new PeerFailure("IdP entra", "compensate", "throttled", { status: 429, retryAfterSeconds: 90 });
  connector.context.peerLimits.of("IdP entra").pauseAfter(throttled);
  await compensate();
  expect(calls).toHaveLength(1);
  expect(run.peers.size).toBe(0);
});

test("a peer gets no call that may outlast the lease", async () => {
  const { connector, compensate, calls } = await idpInTurn();
  const { leaseMs, idpCallMs } = connector.context.intervals;
  connector.advance(leaseMs - idpCallMs);
  await compensate();
  connector.advance(1);
  await expect(compensate()).rejects.toMatchObject({
    kind: "unreachable",
    detail: "It was not called: a call could last longer than the lease of the run.",
  });
  expect(calls).toHaveLength(1);
});

test("a peer that has refused the connector gets no call, and the failure does not say that it is slow", async () => {
  const { connector, run, compensate, calls } = await idpInTurn();
  const { context } = connector;
  recordCall({ peer: "IdP entra", isUnauthorized: true }, run, context);
  await expect(compensate()).rejects.toMatchObject({
    kind: "unreachable",
    detail: "It was not called: earlier calls of the run to it have failed.",
  });
  expect(calls).toEqual([]);
});

const atIdp = (idpId: string): Pick<SecurityKey, "credentials"> => ({
  credentials: [{ userId: "ada", idpId, state: "processing" }],
});

test.each<[string, Partial<SecurityKey>, string, boolean]>([
  ["an IdP of an open security key", {}, "IdP stateful", true],
  ["an IdP of another security key", {}, "IdP other", false],
  ["an IdP of a security key that has ended", { state: "failed" }, "IdP stateful", false],
  ["an IdP that keeps no state", atIdp("stateless"), "IdP stateless", false],
  ["the pre-registration API, for an authenticator", { provisioning: "on_site" }, "pre-registration API", true],
  ["the pre-registration API, for a shipped security key", {}, "pre-registration API", false],
])(
  "the security keys of a request are deferred to a later run while this peer is paused: %s",
  async (_, values, peer, isDeferred) => {
    const { context } = await testConnector(peers, {
      ports: ({ idps }) => ({
        idps: {
          ...idps,
          get: id => {
            const idp = idps.get("entra");
            return idp && { ...idp, id, ...(id === "stateful" && { compensateUnanswered: async () => {} }) };
          },
        },
      }),
    });
    const key: SecurityKey = {
      id: "s-01-001",
      provisioning: "shipped",
      state: "processing",
      ...atIdp("stateful"),
      mail: { state: "none", number: 0 },
      ...values,
    };
    context.peerLimits
      .of(peer)
      .pauseAfter(new PeerFailure(peer, "compensate", "throttled", { status: 429, retryAfterSeconds: 90 }));
    expect(mustDeferKeys([key], startRun("timer", context), context)).toBe(isDeferred);
  },
);
