import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { fixedIntervals } from "../../../../lib/connector/model/intervals.ts";
import type { CredentialRequest } from "../../../../lib/connector/model/request.ts";
import type { SecurityKey } from "../../../../lib/connector/model/security-key.ts";
import { peerLimits } from "../../../../lib/connector/peers/peer-limits.ts";
import { dueRow } from "../../../../lib/connector/storage/due-index.table.ts";
import { indexWriter } from "../../../../lib/connector/storage/index-rows.table.ts";
import { PeerFailure, type PeerFailureKind } from "../../../../lib/platform/peer-failure.ts";
import { hours, minutes, plus, seconds } from "../../../../lib/platform/time.ts";
import {
  type ConnectorOptions,
  idpsOf,
  orderBody,
  peersOfFile,
  testConnector,
} from "../../../support/connector/test-connector.ts";
import { altered } from "../api/bodies.ts";

const peers = await peersOfFile();

/** Activates a credential at an IdP. */
type Activate = (idpId: string) => Promise<undefined>;

/**
 * A connector with one pending credential for each of the given lists of IdPs: each a request with one security key, due
 * one after another. They are copies of one request and opened as it is. The IdPs do what `activate` does.
 */
async function pendingAt(idpIds: readonly (readonly string[])[], activate: Activate, options: ConnectorOptions = {}) {
  const original = await testConnector(peers);
  const most = Math.max(...idpIds.map(({ length }) => length));
  const body = altered(orderBody([most]), { "shipment.shipment_items[0].pin_request": undefined });
  const { requestId } = await original.orderAndPoll(body);
  const calls: string[] = [];
  const connector = original.anotherInstance({
    ...options,
    ports: (context, clock) => ({
      sealer: {
        ...context.sealer,
        open: (sealed, place) => context.sealer.open(sealed, { ...place, row: place.row.replace(/^[^/]+/, requestId) }),
      },
      idps: {
        ...context.idps,
        get: id => {
          const idp = context.idps.get("entra");
          const call = () => {
            calls.push(id);
            return activate(id);
          };
          return idp && { ...idp, id, activate: call };
        },
      },
      ...options.ports?.(context, clock),
    }),
  });
  const loaded = await original.load(requestId);
  const [key] = loaded.keys;
  if (key === undefined) throw new Error("no key");
  const { delivery, due, ...request } = loaded.request;
  const start = connector.now();
  const copies = idpIds.map((ids, position): [CredentialRequest, SecurityKey] => {
    const at = plus(start, position - idpIds.length);
    const credentials = ids.map((idpId, index) => {
      const credential = key.credentials[index];
      if (credential === undefined) throw new Error("no credential");
      return { ...credential, idpId, retry: { attempts: 0, nextAt: at } };
    });
    const peer = new Set(ids).size === 1 ? { peer: `IdP ${ids[0]}` } : {};
    const dueOfKey = { queue: "key", at, ...peer } as const;
    return [
      { ...request, id: randomUUID() },
      { ...key, credentials, due: dueOfKey },
    ];
  });
  for (const [copy, copiedKey] of copies) await connector.context.requests.insert(copy, [copiedKey]);
  await original.context.requests.remove(await original.load(requestId));
  const keyOf = async (position: number) => connector.keyRow(copies[position]?.[0].id ?? "");
  const callsTo = (idpId: string) => calls.filter(each => each === idpId).length;
  return { connector, callsTo, keyOf };
}

const times = (count: number, ...idpIds: string[]): string[][] => Array.from({ length: count }, () => idpIds);
const failed = (kind: PeerFailureKind, details?: ConstructorParameters<typeof PeerFailure>[3]) =>
  new PeerFailure("IdP slow", "registration", kind, details);

describe("an IdP that does not answer", () => {
  test("delays no activation at another IdP, and the rest of its own stay due as they were", async () => {
    const answer = Promise.withResolvers<void>();
    const healthy = Promise.withResolvers<void>();
    let activated = 0;
    const activate: Activate = async id => {
      if (id === "healthy") {
        if (++activated === 10) healthy.resolve();
        return undefined;
      }
      await answer.promise;
      throw failed("unanswered");
    };
    const idpIds = [...times(20, "slow"), ...times(10, "healthy")];
    const { connector, callsTo, keyOf } = await pendingAt(idpIds, activate, { limits: { callsAtOnce: 8 } });
    const counted = connector.counted(() => connector.runCredentials("timer"));
    // The calls to the other IdP end while those to this one have no answer.
    await healthy.promise;
    answer.resolve();
    const { result, calls } = await counted;
    const tried = callsTo("slow");
    expect(tried).toBeLessThanOrEqual(8);
    expect(result).toEqual({ processed: 10 + tried, activated: 10, failed: 0, pending: tried, deferred: 20 - tried });
    // What is deferred is not even loaded.
    const loads = calls.filter(call => call.startsWith("GET") && call.endsWith("/credentialrequests()"));
    expect(loads.length).toBeLessThanOrEqual(10 + 8);
    expect(connector.events("peer_stopped")).toMatchObject([{ peer: "IdP slow" }]);
    const left = await keyOf(15);
    expect(left.credentials[0]).toMatchObject({ state: "activation_pending", retry: { attempts: 0 } });
    expect(left.credentials[0]?.triedAt).toBeUndefined();
    expect((await connector.queue("key")).filter(({ at }) => at < connector.now())).toHaveLength(20 - tried);
  });

  test.each([
    ["is not reached", failed("unreachable")],
    ["does not answer", failed("unanswered")],
    ["answers 5xx", failed("unanswered", { status: 502 })],
    ["answers 503 with Retry-After", failed("throttled", { status: 503, retryAfterSeconds: 600 })],
    ["does not accept the connector's token", failed("unauthorized", { status: 401 })],
    ["answers 404 through a proxy", failed("unreachable", { status: 404 })],
    ["gives the connector no token", new PeerFailure("IdP slow", "access token", "unauthorized", { status: 403 })],
  ])("is called three times by a run if it %s, and again by the next run", async (_, failure) => {
    const limits = { callsAtOnce: 1 };
    const { connector, callsTo } = await pendingAt(times(5, "slow"), async () => Promise.reject(failure), { limits });
    expect(await connector.runCredentials("timer")).toMatchObject({ pending: 3, deferred: 2 });
    expect(callsTo("slow")).toBe(3);
    expect(await connector.runCredentials("timer")).toMatchObject({ pending: 2, deferred: 0 });
  });

  test.each([
    ["refuses some users", failed("refused", { status: 400 })],
    ["forbids some users", failed("unauthorized", { status: 403 })],
    ["does not know some users", failed("missing", { status: 404, code: "unknown" })],
  ])("is not one that %s: all others are activated", async (_, failure) => {
    let calls = 0;
    const limits = { callsAtOnce: 1 };
    const activate = () => (++calls > 5 ? Promise.resolve(undefined) : Promise.reject(failure));
    const { connector } = await pendingAt(times(7, "slow"), activate, { limits });
    expect(await connector.runCredentials("timer")).toMatchObject({ processed: 7, activated: 2, deferred: 0 });
  });

  test("is called three times by a run also if it answers the read-backs in between", async () => {
    const limits = { callsAtOnce: 1 };
    const activate = () => Promise.reject(failed("unanswered"));
    const { connector, callsTo } = await pendingAt(times(5, "slow"), activate, { limits });
    await connector.runCredentials("timer");
    await connector.runCredentials("timer");
    expect(callsTo("slow")).toBe(5);
    connector.advance(minutes(20));
    expect(await connector.runCredentials("timer")).toMatchObject({ processed: 3, deferred: 2 });
    expect(callsTo("slow")).toBe(8);
  });

  test("does not delay the other credentials of a security key, whose lease is released", async () => {
    const activate: Activate = id =>
      id === "slow" ? Promise.reject(failed("unanswered")) : Promise.resolve(undefined);
    const limits = { callsAtOnce: 1 };
    const idpIds = [...times(3, "slow"), ["slow", "healthy", "slow"], ["healthy", "slow"]];
    const { connector, callsTo, keyOf } = await pendingAt(idpIds, activate, { limits });
    const report = await connector.runCredentials("timer");
    expect(report).toMatchObject({ processed: 5, activated: 2 });
    // The requests for one IdP and those for both are worked on at the same time: the third failure may be that of either.
    expect([2, 3]).toContain(report.deferred);
    expect([callsTo("slow"), callsTo("healthy")]).toEqual([3, 2]);
    for (const position of [3, 4]) {
      const { lease, due, credentials } = await keyOf(position);
      expect(lease).toBeUndefined();
      expect(due).toMatchObject({ peer: "IdP slow" });
      expect(
        credentials
          .map(({ state }) => state)
          .toSorted()
          .at(0),
      ).toBe("activation_pending");
    }
  });
});

describe("the due row of a security key", () => {
  test.each([
    ["just now", 0, "IdP slow"],
    ["before the last hour", hours(1), "IdP healthy"],
  ])(
    "that names one peer after a crash %s does not keep the work at the other peers from a run",
    async (_, ageMs, peer) => {
      let isAway = true;
      const activate: Activate = id =>
        id === "slow" && isAway ? Promise.reject(failed("unanswered")) : Promise.resolve(undefined);
      const limits = { callsAtOnce: 1 };
      const { connector } = await pendingAt([...times(3, "slow"), ["healthy", "slow"]], activate, { limits });
      const { deployment, now } = connector;
      const [row] = (await connector.queue("key")).filter(({ peer }) => peer === undefined);
      if (row === undefined) throw new Error("no due row without a peer");
      // The index row of a change whose rows were not written.
      const due = { queue: row.queue, at: row.at, peer };
      await indexWriter(deployment.tables, now).put([dueRow({ ...row, due })]);
      connector.advance(ageMs);
      expect(await connector.runCredentials("timer")).toMatchObject({ activated: 1 });
      isAway = false;
      connector.advance(minutes(20));
      await connector.runCredentials("timer");
      expect(await connector.queue("key")).toEqual([]);
    },
  );
});

describe("the report of an on-demand call", () => {
  test("counts a request whose credential at one IdP was deferred, although its next time has not come", async () => {
    const idpIds = [["slow"], ["slow"], ["healthy", "slow"], ["slow"]];
    let clock = { advance: (_: number): void => undefined };
    const activate: Activate = () => {
      clock.advance(1);
      return Promise.reject(failed("unanswered"));
    };
    const { connector } = await pendingAt(idpIds, activate, {
      limits: { callsAtOnce: 1 },
      ports: (_, ofInstance) => {
        clock = ofInstance;
        return {};
      },
    });
    expect(await connector.runCredentials("timer")).toMatchObject({ deferred: 1 });
    expect(await connector.runCredentials("on_demand")).toMatchObject({ deferred: 1 });
  });
});

describe("an IdP that answers 429", () => {
  const throttled = (retryAfterSeconds?: number) => failed("throttled", { status: 429, retryAfterSeconds });

  test.each([
    ["the time of its Retry-After", seconds(300), throttled(300)],
    ["a minute without Retry-After", minutes(1), throttled()],
    ["10 minutes if its Retry-After is longer", minutes(10), throttled(86_400)],
  ])("is not called for %s by any run of the host, and others are", async (_, ms, failure) => {
    let isThrottling = true;
    const activate: Activate = async id => {
      if (id === "slow" && isThrottling) throw failure;
    };
    const limits = { callsAtOnce: 1 };
    const idpIds = [...times(5, "slow"), ...times(2, "healthy")];
    const { connector, callsTo } = await pendingAt(idpIds, activate, { limits });
    expect(await connector.runCredentials()).toEqual({
      processed: 3,
      activated: 2,
      failed: 0,
      pending: 1,
      deferred: 4,
    });
    const until = plus(connector.now(), ms);
    expect(connector.events("peer_stopped")).toMatchObject([{ peer: "IdP slow", until }]);
    connector.advance(ms - 1);
    expect(await connector.runCredentials()).toMatchObject({ processed: 0 });
    expect(callsTo("slow")).toBe(1);
    isThrottling = false;
    connector.advance(1);
    expect(await connector.runCredentials()).toMatchObject({ activated: expect.any(Number), deferred: 0 });
    expect(callsTo("slow")).toBeGreaterThanOrEqual(5);
  });

  test.each([
    [
      "waits for the end of its Retry-After and continues",
      300,
      { activated: 4, pending: 1, deferred: 0 },
      [seconds(300)],
    ],
    ["does not wait if the Retry-After is longer than its time", 420, { activated: 0, pending: 1, deferred: 4 }, []],
  ])("has a timer run that %s", async (_, retryAfterSeconds, report, waits) => {
    let calls = 0;
    const activate = () => (++calls === 1 ? Promise.reject(throttled(retryAfterSeconds)) : Promise.resolve(undefined));
    const slept: number[] = [];
    const { connector } = await pendingAt(times(5, "slow"), activate, {
      limits: { callsAtOnce: 1, retry: { ...fixedIntervals.retry, minMs: 600_000 } },
      ports: (_, clock) => ({
        sleep: async ms => {
          slept.push(ms);
          clock.advance(ms);
        },
      }),
    });
    expect(await connector.runCredentials("timer")).toMatchObject(report);
    expect(slept).toEqual(waits);
  });
});

describe("an IdP whose Retry-After", () => {
  const throttled = failed("throttled", { status: 429, retryAfterSeconds: 60 });

  async function throttling(activate: (advance: (ms: number) => void) => Activate) {
    const slept: number[] = [];
    let advance = (_: number): void => undefined;
    const idpIds = [...times(5, "slow"), ...times(2, "healthy")];
    const { connector } = await pendingAt(idpIds, id => activate(ms => advance(ms))(id), {
      limits: { callsAtOnce: 1, retry: { ...fixedIntervals.retry, minMs: 600_000 } },
      ports: (_, clock) => {
        advance = clock.advance;
        return { sleep: async ms => clock.advance(slept.push(ms) && ms) };
      },
    });
    return { connector, slept };
  }

  test("is over when the work at the others is done is called again by the same timer run", async () => {
    let calls = 0;
    const { connector, slept } = await throttling(advance => async id => {
      if (id === "healthy") advance(minutes(1));
      else if (++calls === 1) throw throttled;
    });
    expect(await connector.runCredentials("timer")).toMatchObject({ activated: 6, pending: 1, deferred: 0 });
    expect(slept).toEqual([]);
  });

  test("began before a timer run is waited for by that run", async () => {
    let calls = 0;
    const { connector, slept } = await throttling(() => async id => {
      if (id === "slow" && ++calls === 1) throw throttled;
    });
    expect(await connector.runCredentials("on_demand")).toMatchObject({ activated: 2, deferred: 4 });
    expect(await connector.runCredentials("timer")).toMatchObject({ activated: 4, deferred: 0 });
    expect(slept).toEqual([seconds(60)]);
  });
});

describe("the read-backs of unanswered activations", () => {
  test("wait for their turn like the activations", async () => {
    let atOnce = 0;
    let most = 0;
    let arrived = 0;
    const all = Promise.withResolvers<void>();
    const activate = async () => {
      if (++arrived === 4) all.resolve();
      await all.promise;
      throw failed("unanswered");
    };
    const { connector } = await pendingAt(times(4, "slow"), activate);
    await connector.runCredentials("timer");
    connector.advance(minutes(1));
    const oneAtOnce = peerLimits(1, connector.now);
    const another = connector.anotherInstance({
      ports: () => ({
        sealer: connector.context.sealer,
        peerLimits: { ...oneAtOnce, callsAtOnce: 8 },
        idps: idpsOf(connector.context, () => ({
          isRegistered: async () => {
            most = Math.max(most, ++atOnce);
            await new Promise(resolve => setImmediate(resolve));
            atOnce--;
            return true;
          },
        })),
      }),
    });
    expect(await another.runCredentials("timer")).toMatchObject({ processed: 4, activated: 4 });
    expect(most).toBe(1);
  });

  test("stop the run's calls to the IdP after three without an answer", async () => {
    const limits = { callsAtOnce: 1 };
    const { connector } = await pendingAt(times(5, "slow"), () => Promise.reject(failed("unanswered")), { limits });
    await connector.runCredentials("timer");
    await connector.runCredentials("timer");
    connector.advance(minutes(20));
    let readBacks = 0;
    const another = connector.anotherInstance({
      limits,
      ports: () => ({
        sealer: connector.context.sealer,
        idps: idpsOf(connector.context, () => ({
          isRegistered: async () => {
            readBacks++;
            throw failed("unanswered");
          },
        })),
      }),
    });
    expect(await another.runCredentials("timer")).toMatchObject({ processed: 3, deferred: 2 });
    expect(readBacks).toBe(3);
    expect(another.events("peer_stopped")).toMatchObject([{ peer: "IdP slow" }]);
  });
});
