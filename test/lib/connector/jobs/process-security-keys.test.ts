import { describe, expect, test } from "vitest";
import { cancelRequest } from "../../../../lib/connector/cancel/cancel-request.ts";
import { newKeyCounts, processSecurityKey } from "../../../../lib/connector/jobs/process-security-keys.ts";
import type { LoadedRequest } from "../../../../lib/connector/model/loaded-request.ts";
import type { Due } from "../../../../lib/connector/model/request.ts";
import { type PeerLimits, peerLimits } from "../../../../lib/connector/peers/peer-limits.ts";
import { keyWork } from "../../../../lib/connector/runs/key-work.ts";
import { notCalled, startRun } from "../../../../lib/connector/runs/run.ts";
import { dueRow } from "../../../../lib/connector/storage/due-index.table.ts";
import { indexWriter } from "../../../../lib/connector/storage/index-rows.table.ts";
import { Fault } from "../../../../lib/platform/fault.ts";
import { PeerFailure } from "../../../../lib/platform/peer-failure.ts";
import { hours, minutes, plus, seconds } from "../../../../lib/platform/time.ts";
import { withIdps, withPort } from "../../../support/connector/changed-peers.ts";
import { unanswered, usersOf } from "../../../support/connector/in-a-state.ts";
import { onSiteBody } from "../../../support/connector/on-site.ts";
import {
  type ConnectorOptions,
  orderBody,
  peersOfFile,
  type TestConnector,
  testConnector,
  withoutPins,
} from "../../../support/connector/test-connector.ts";
import { until } from "../../../support/until.ts";

const peers = await peersOfFile();
const registrations = (users: readonly string[]) =>
  peers.entra.registrations().filter(({ userId }) => users.includes(userId));
const mailsTo = (address: string) => peers.mail.mails().filter(({ to }) => to.includes(address)).length;
const posts = () => peers.entra.count("POST", /fido2Methods$/);
const requestReads = (calls: readonly string[]) =>
  calls.filter(call => call.startsWith("GET") && call.endsWith("/credentialrequests()")).length;

const oneAtATime = { limits: { callsAtOnce: 1 } };

/** Creates requests, one after another. */
async function orders(
  connector: TestConnector,
  count: number,
  { shape = [1], pins = true }: { readonly shape?: readonly number[]; readonly pins?: boolean } = {},
) {
  const placed = [];
  for (let n = 0; n < count; n++) {
    const full = orderBody(shape);
    const body = pins ? full : withoutPins(full);
    const { requestId, shipmentId = "" } = await connector.order(body);
    placed.push({ requestId, shipmentId, body });
    connector.advance(1);
  }
  return placed;
}

/** Polls and fetches of PINs take so long, activations so long. */
const slow = ({ polls = 0, activations = 0 }): ConnectorOptions => ({
  ...oneAtATime,
  ports: (context, clock) => ({
    ...withPort("delivery", ({ getShipment }) => ({
      getShipment: id => {
        clock.advance(polls);
        return getShipment(id);
      },
    }))(context, clock),
    ...withIdps(({ activate }) => ({
      activate: (...call) => {
        clock.advance(activations);
        return activate(...call);
      },
    }))(context, clock),
  }),
});

type PeerLimit = ReturnType<PeerLimits["of"]>;

/** A limit of one call at once to a peer, which makes the first one when so many wait for their turn. */
function oneCallAtATime(
  count: number,
  peer: string,
  { now }: TestConnector["context"],
): Pick<TestConnector["context"], "peerLimits"> {
  const limit = peerLimits(1, now).of(peer);
  const all = Promise.withResolvers<void>();
  let arrived = 0;
  const run: PeerLimit["run"] = async work => {
    if (++arrived === count) all.resolve();
    await all.promise;
    return limit.run(work);
  };
  const others: PeerLimit = { pausedUntil: undefined, run: work => work(), pauseAfter: () => {} };
  return {
    peerLimits: {
      callsAtOnce: 8,
      of: each =>
        each === peer
          ? {
              get pausedUntil() {
                return limit.pausedUntil;
              },
              run,
              pauseAfter: failure => limit.pauseAfter(failure),
            }
          : others,
    },
  };
}

describe("a job works on what is due", () => {
  test("by the timer at its time, oldest first", async () => {
    const connector = await testConnector(peers, oneAtATime);
    const placed = await orders(connector, 4, { pins: false });
    expect(await connector.runShipments("timer")).toMatchObject({ answered: 0 });
    connector.advance(hours(1) - 3);
    expect(await connector.runShipments("timer")).toMatchObject({ answered: 2 });
    connector.advance(3);
    expect(await connector.runShipments("timer")).toMatchObject({ answered: 2 });
    const polled = peers.delivery
      .requests()
      .flatMap(({ method, path }) => (method === "GET" ? [path.split("shipments/")[1]] : []));
    expect(polled.filter(Boolean)).toEqual(placed.map(({ shipmentId }) => shipmentId));
  });

  test("every open item by an on-demand call, oldest first", async () => {
    const connector = await testConnector(peers, slow({ polls: 1 }));
    const placed = await orders(connector, 3, { pins: false });
    expect(await connector.runShipments("on_demand")).toMatchObject({ answered: 3 });
    await connector.runCredentials("on_demand");
    expect(registrations(placed.flatMap(({ body }) => usersOf(body))).map(({ userId }) => userId)).toEqual(
      placed.flatMap(({ body }) => usersOf(body)),
    );
  });

  test("without a call if nothing is due", async () => {
    const connector = await testConnector(peers);
    for (const run of [() => connector.runShipments("timer"), () => connector.runCredentials("timer")]) {
      const { calls } = await connector.counted<unknown>(run);
      expect(calls.every(call => call.startsWith("GET") && call.endsWith("/due()"))).toBe(true);
    }
  });

  test("and continues with the other keys of a request of which one fails", async () => {
    const connector = await testConnector(peers);
    const [placed] = await orders(connector, 1, { shape: [1, 1, 1] });
    const requestId = placed?.requestId ?? "";
    await connector.runShipments();
    const faulty = connector.anotherInstance({
      ports: withPort("responses", ({ get }) => ({
        get: name => (name.includes("s-01") ? Promise.reject(new Error("a bug")) : get(name)),
      })),
    });
    expect(await faulty.runCredentials()).toMatchObject({ activated: 2 });
    expect(faulty.events("work_failed")).toMatchObject([
      { credentialRequestId: requestId, keyId: "s-01-001", error: { message: "a bug" } },
    ]);
    expect(await connector.queue("key")).toMatchObject([{ requestId, keyId: "s-01-001" }]);
    expect(await connector.runCredentials("timer")).toMatchObject({ activated: 1 });
    expect(await connector.read(requestId)).toMatchObject({ state: "complete" });
  });

  test("and removes a cancelled key from the queue after the lease of a run that stopped", async () => {
    const connector = await testConnector(peers);
    const { requestId } = await connector.order(onSiteBody());
    const leased = await connector.load(requestId);
    const key = await connector.keyRow(requestId, "a-01");
    const lease = { owner: "dead", until: plus(connector.now(), minutes(3)) };
    await connector.context.requests.save(leased, { keys: [{ ...key, lease }] });
    await cancelRequest(requestId, connector.context);
    connector.advance(minutes(6));
    await connector.runCredentials("timer");
    expect(await connector.queue("key")).toEqual([]);
    const { due, lease: left } = await connector.keyRow(requestId, "a-01");
    expect([due, left]).toEqual([undefined, undefined]);
  });

  test("and ends if storage is not available, and the rest stays due", async () => {
    const connector = await testConnector(peers, oneAtATime);
    await orders(connector, 3, { pins: false });
    let loads = 0;
    const away = connector.anotherInstance({
      ports: withPort("requests", ({ load }) => ({
        load: id =>
          ++loads === 2 ? Promise.reject(new Fault("unavailable", "away", { retryAfterSeconds: 5 })) : load(id),
      })),
    });
    await expect(away.runShipments()).rejects.toMatchObject({ kind: "unavailable" });
    expect(loads).toBe(2);
    expect(await connector.queue("poll")).toHaveLength(2);
    expect(await connector.runShipments()).toMatchObject({ answered: 2, deferred: 0 });
  });
});

describe("a time budget", () => {
  test.each([
    ["on_demand", seconds(40), 3],
    ["timer", seconds(200), 3],
  ] as const)(
    "in mode %s ends the run before the next request is read, and says what is deferred, which stays due",
    async (mode, ms, done) => {
      const connector = await testConnector(peers, slow({ polls: ms }));
      await orders(connector, 5, { pins: false });
      connector.advance(hours(1));
      const { calls, result } = await connector.counted(() => connector.runShipments(mode));
      expect(result).toMatchObject({ answered: done, deferred: 5 - done });
      expect(requestReads(calls)).toBe(done);
      expect(await connector.queue("poll")).toHaveLength(5 - done);
      expect(await connector.runShipments(mode)).toMatchObject({ answered: 5 - done, deferred: 0 });
    },
  );

  test("ends the run before the next key and the next credential, and releases the lease", async () => {
    const connector = await testConnector(peers, slow({ activations: seconds(40) }));
    const [one] = await orders(connector, 1, { shape: [1, 4] });
    const requestId = one?.requestId ?? "";
    await connector.anotherInstance({ ports: () => ({}) }).runShipments();
    expect(await connector.runCredentials()).toEqual({
      processed: 3,
      activated: 3,
      failed: 0,
      pending: 0,
      deferred: 1,
    });
    expect((await connector.keyRow(requestId, "s-02-001")).lease).toBeUndefined();
    expect(await connector.runCredentials("timer")).toEqual({
      processed: 2,
      activated: 2,
      failed: 0,
      pending: 0,
      deferred: 0,
    });
    expect(await connector.read(requestId)).toMatchObject({ state: "complete" });
    expect(mailsTo(one?.body.recipient.email ?? "")).toBe(2);
  });

  test("that ends with the last item leaves nothing", async () => {
    const connector = await testConnector(peers, slow({ polls: seconds(101) }));
    await orders(connector, 1);
    expect(await connector.runShipments()).toMatchObject({ answered: 1, deferred: 0 });
    const withSlowMails = connector.anotherInstance({
      ports: withPort("mailer", ({ send }, clock) => ({
        send: mail => {
          clock.advance(seconds(101));
          return send(mail);
        },
      })),
    });
    expect(await withSlowMails.runCredentials()).toMatchObject({ activated: 1, deferred: 0 });
  });

  test("that ends with the last credential of a key leaves its mail due, and releases the lease", async () => {
    const connector = await testConnector(peers, slow({ activations: seconds(101) }));
    const [one] = await orders(connector, 1);
    const to = one?.body.recipient.email ?? "";
    await connector.anotherInstance({ ports: () => ({}) }).runShipments();
    expect(await connector.runCredentials()).toMatchObject({ activated: 1, deferred: 1 });
    expect(mailsTo(to)).toBe(0);
    expect((await connector.keyRow(one?.requestId ?? "")).lease).toBeUndefined();
    expect(await connector.runCredentials("timer")).toMatchObject({ processed: 0, deferred: 0 });
    expect(mailsTo(to)).toBe(1);
  });

  test("that is over after the PIN was fetched leaves the mail due, and takes no lease", async () => {
    const connector = await testConnector(peers);
    const [one] = await orders(connector, 1);
    const to = one?.body.recipient.email ?? "";
    await connector.runShipments();
    const slowPins = connector.anotherInstance(slow({ polls: seconds(101) }));
    expect(await slowPins.runCredentials()).toMatchObject({ activated: 1, deferred: 1 });
    expect(mailsTo(to)).toBe(0);
    const { lease, mail } = await connector.keyRow(one?.requestId ?? "");
    expect([lease, mail.triedAt]).toEqual([undefined, undefined]);
    expect(await connector.runCredentials("timer")).toMatchObject({ deferred: 0 });
    expect(mailsTo(to)).toBe(1);
  });

  test("that is over when the turn of a call comes starts it no more, and keeps no lease", async () => {
    const connector = await testConnector(peers);
    const placed = await orders(connector, 3);
    await connector.runShipments();
    const waiting = connector.anotherInstance({
      ports: (context, clock) => ({
        ...slow({ activations: seconds(101) }).ports?.(context, clock),
        ...oneCallAtATime(3, "IdP entra", context),
      }),
    });
    expect(await waiting.runCredentials()).toMatchObject({ activated: 1, deferred: 3 });
    expect(posts()).toBe(1);
    const keys = await Promise.all(placed.map(({ requestId }) => connector.keyRow(requestId)));
    expect(keys.map(({ lease }) => lease)).toEqual([undefined, undefined, undefined]);
    const pending = keys.flatMap(({ credentials }) => credentials).filter(({ state }) => state !== "active");
    expect(pending.map(({ triedAt }) => triedAt)).toEqual([undefined, undefined]);
    expect(await connector.runCredentials("timer")).toMatchObject({ activated: 2, deferred: 0 });
  });

  test("that is over when the turn of a poll comes leaves the shipment to the next run", async () => {
    const connector = await testConnector(peers);
    await orders(connector, 3, { pins: false });
    const waiting = connector.anotherInstance({
      ports: (context, clock) => ({
        ...slow({ polls: seconds(101) }).ports?.(context, clock),
        ...oneCallAtATime(3, "delivery service", context),
      }),
    });
    expect(await waiting.runShipments()).toMatchObject({ answered: 1, deferred: 2 });
    expect(await connector.runShipments()).toMatchObject({ answered: 2, deferred: 0 });
  });

  test("that is over before a key's first credential starts none, reads no response, and writes no row", async () => {
    const read: string[] = [];
    const connector = await testConnector(peers, {
      ports: withPort("responses", ({ get }) => ({
        get: name => {
          read.push(name);
          return get(name);
        },
      })),
    });
    const [one] = await orders(connector, 1);
    await connector.runShipments();
    const requestId = one?.requestId ?? "";
    const loaded = await connector.load(requestId);
    const run = { ...startRun("timer", connector.context), endsAt: connector.now() };
    const counts = newKeyCounts();
    read.splice(0);
    await processSecurityKey(loaded, "s-01-001", run, counts);
    expect(counts.processed).toBe(0);
    expect(read).toEqual([]);
    expect(posts()).toBe(0);
    expect(await connector.load(requestId)).toEqual(loaded);
  });

  test("that is over after the first call of an operation leaves it its other calls, and those of no other one", async () => {
    const connector = await testConnector(peers);
    const [one] = await orders(connector, 1);
    await connector.runShipments();
    const loaded = await connector.load(one?.requestId ?? "");
    const work = keyWork(loaded, "s-01-001", startRun("timer", connector.context));
    const call = (name: string) =>
      work.call({ peer: `IdP ${name}`, timeLimitMs: 0 }, async () => {
        connector.advance(hours(1));
        return name;
      });
    expect([await call("first"), await call("second")]).toEqual(["first", "second"]);
    expect(await work.finish(key => ({ ...key, firmware: "after both" }))).toBe(true);
    expect(await call("third")).toBe(notCalled);
    expect(await connector.keyRow(one?.requestId ?? "")).toMatchObject({ firmware: "after both" });
  });

  test("is not used up by a job that the delivery service refuses: nothing more is read", async () => {
    const connector = await testConnector(peers, oneAtATime);
    await orders(connector, 5, { pins: false });
    peers.delivery.fail({ kind: "refuse", status: 401, path: "shipments/", times: 100 });
    const { calls, result } = await connector.counted(() => connector.runShipments());
    expect(result).toMatchObject({ deferred: 4 });
    expect(requestReads(calls)).toBe(1);
  });
});

describe("several hosts at once", () => {
  test.each([
    [seconds(150), 1],
    [seconds(150) + 1, 0],
  ])("begin no call that the lease would not outlast: storage takes %i ms to renew it", async (ms, calls) => {
    const connector = await testConnector(peers, {
      ports: withPort("requests", ({ save }, clock) => ({
        save: async (loaded, changes) => {
          const saved = await save(loaded, changes);
          if (changes.keys?.[0]?.credentials[0]?.triedAt !== undefined) clock.advance(ms);
          return saved;
        },
      })),
    });
    const [one] = await orders(connector, 1);
    await connector.runJobs();
    expect(posts()).toBe(calls);
    // It stopped: a call that was not started is no failed one.
    expect((await connector.keyRow(one?.requestId ?? "")).credentials[0]?.retry?.attempts ?? 0).toBe(0);
  });

  test("keep the result of the other host if it took over a key", async () => {
    const other: TestConnector[] = [];
    const connector = await testConnector(peers, {
      ports: withIdps(({ activate }, clock) => ({
        activate: async (...call) => {
          // Stopped past its lease, while another host does the whole work.
          await activate(...call);
          clock.advance(seconds(181));
          await other[0]?.runCredentials();
          await other[0]?.runCredentials();
          return undefined;
        },
      })),
    });
    other.push(connector.anotherInstance({ ports: () => ({}) }));
    const [one] = await orders(connector, 1);
    await connector.runJobs();
    expect(await connector.read(one?.requestId ?? "")).toMatchObject({ state: "complete" });
    expect(registrations(usersOf(one?.body))).toHaveLength(1);
    expect(mailsTo(one?.body.recipient.email ?? "")).toBe(1);
    expect(connector.events("work_failed")).toEqual([]);
  });

  test("write nothing to a key that another host has leased meanwhile, not even a failure", async () => {
    const entered = Promise.withResolvers<void>();
    const release = Promise.withResolvers<void>();
    let working: Promise<unknown> = Promise.resolve();
    const other: TestConnector[] = [];
    const connector = await testConnector(peers, {
      ports: withIdps((_, clock) => ({
        activate: async () => {
          clock.advance(seconds(181));
          working = other[0]?.runCredentials() ?? working;
          await entered.promise;
          throw new PeerFailure("IdP entra", "registration", "unanswered");
        },
      })),
    });
    const entering = withIdps(({ activate }) => ({
      activate: async (...call) => {
        entered.resolve();
        await release.promise;
        return activate(...call);
      },
    }));
    other.push(connector.anotherInstance({ ports: entering }));
    const [one] = await orders(connector, 1);
    const requestId = one?.requestId ?? "";
    await connector.runJobs();
    const { lease, credentials } = await connector.keyRow(requestId);
    expect(lease?.until).toBe(plus(connector.now(), seconds(180)));
    expect(credentials[0]).toMatchObject({ retry: { attempts: 0 }, triedAt: expect.any(String) });
    release.resolve();
    await working;
    expect(await connector.read(requestId)).toMatchObject({ state: "complete" });
  });
});

describe("the activations of a job", () => {
  async function pending(count: number, options: ConnectorOptions = {}) {
    const connector = await testConnector(peers, options);
    await orders(connector, count, { pins: false });
    await connector.runShipments();
    peers.entra.resetRequests();
    return connector;
  }
  const registration = { method: "POST", path: "fido2Methods$" };

  test("are 16 at once", async () => {
    const connector = await pending(20);
    peers.entra.fail({ kind: "hang", times: 20, ...registration });
    const working = connector.runCredentials("timer");
    await peers.entra.untilHanging(16);
    expect(posts()).toBe(16);
    peers.entra.release();
    await peers.entra.untilHanging(4);
    peers.entra.release();
    expect(await working).toMatchObject({ processed: 20, activated: 20, deferred: 0 });
  });

  test("stop when the IdP throttles some, and the others are made after its Retry-After", async () => {
    const connector = await pending(12, { limits: { callsAtOnce: 8 } });
    peers.entra.fail({ kind: "throttle", above: 5, times: 100, ...registration });
    peers.entra.fail({ kind: "hang", times: 5, ...registration });
    const working = connector.runCredentials("timer");
    const limit = connector.context.peerLimits.of("IdP entra");
    // The sixth call is throttled. From then on no call is begun; of the two that were begun, each may arrive later.
    await until(
      () => limit.pausedUntil !== undefined,
      () => "no call was throttled",
    );
    peers.entra.release();
    const { processed, activated, pending: throttled, deferred } = await working;
    expect(throttled).toBeGreaterThan(0);
    expect(activated).toBeGreaterThanOrEqual(5);
    expect(deferred).toBeGreaterThanOrEqual(4);
    expect([processed, processed + deferred]).toEqual([activated + throttled, 12]);
    expect(posts()).toBe(processed);
    peers.entra.clearFaults();
    connector.advance(minutes(1));
    expect(await connector.runCredentials("timer")).toMatchObject({ activated: 12 - activated, deferred: 0 });
  });
});

describe("calls that wait for their turn", () => {
  test("are not made before the end of the Retry-After of a mail service that throttles meanwhile", async () => {
    const connector = await testConnector(peers);
    await orders(connector, 3);
    await connector.runShipments();
    peers.mail.fail({ kind: "throttle", method: "POST", retryAfter: 600 });
    const ports: ConnectorOptions["ports"] = context => oneCallAtATime(3, "mail service", context);
    const waiting = connector.anotherInstance({ ports });
    const sends = () => peers.mail.count("POST", /emails:send$/);
    expect(await waiting.runCredentials()).toMatchObject({ activated: 3, deferred: 2 });
    connector.advance(seconds(600) - 1);
    expect(await waiting.runCredentials()).toMatchObject({ deferred: 2 });
    expect(sends()).toBe(1);
    connector.advance(1);
    expect(await waiting.runCredentials()).toMatchObject({ deferred: 0 });
    expect(sends()).toBe(4);
  });

  test("are counted as deferred when the delivery service throttles meanwhile: look-ups of orders", async () => {
    const connector = await testConnector(peers);
    for (let n = 0; n < 3; n++) await unanswered(connector, peers);
    connector.advance(minutes(20));
    peers.delivery.fail({ kind: "throttle", method: "GET", retryAfter: 600, times: 10 });
    const ports: ConnectorOptions["ports"] = context => oneCallAtATime(3, "delivery service", context);
    expect(await connector.anotherInstance({ ports }).runCredentials("timer")).toMatchObject({ deferred: 2 });
  });

  test.each([
    ["throttles", { kind: "throttle", retryAfter: 600 }],
    ["refuses the connector", { kind: "refuse", status: 403 }],
  ] as const)("are not made when the pre-registration API %s meanwhile", async (_, fault) => {
    const connector = await testConnector(peers);
    for (let n = 0; n < 3; n++) await connector.order(onSiteBody());
    peers.rfpr.fail({ ...fault, method: "GET", times: 10 });
    const ports: ConnectorOptions["ports"] = context => oneCallAtATime(3, "pre-registration API", context);
    await connector.anotherInstance({ ports }).runCredentials();
    expect(peers.rfpr.count("GET", /authenticator-requests/)).toBe(1);
  });
});

describe("an index row that finds nothing due", () => {
  const dueAt = (connector: TestConnector, ms: number): Due => ({ queue: "key", at: plus(connector.now(), ms) });
  const etagOf = ({ keys, etags }: LoadedRequest) => etags.get(`key:${keys[0]?.id}`);

  async function pending() {
    const connector = await testConnector(peers);
    const { requestId } = await connector.order();
    const { context, deployment, now } = connector;
    const index = indexWriter(deployment.tables, now);
    return { connector, requestId, requests: context.requests, index };
  }

  test("is skipped for 10 minutes, and then removed after its row was rewritten", async () => {
    const { connector, requestId, index } = await pending();
    const stale = dueAt(connector, 0);
    await index.put([dueRow({ due: stale, requestId, keyId: "s-01-001" })]);
    const before = await connector.load(requestId);
    connector.advance(minutes(10));
    await connector.runCredentials();
    expect(await connector.queue("key")).toHaveLength(1);
    expect(etagOf(await connector.load(requestId))).toBe(etagOf(before));
    connector.advance(1);
    await connector.runCredentials();
    expect(await connector.queue("key")).toEqual([]);
    const after = await connector.load(requestId);
    expect(etagOf(after)).not.toBe(etagOf(before));
    expect(after.keys).toEqual(before.keys);
    expect(posts()).toBe(0);
  });

  test("is replaced by the index row of the time at which its row is due", async () => {
    const { connector, requestId, index } = await pending();
    await connector.runShipments();
    const [real] = await connector.queue("key");
    if (real === undefined) throw new Error("nothing is due");
    await index.put([dueRow({ due: dueAt(connector, minutes(1)), requestId, keyId: "s-01-001" })]);
    await index.remove([dueRow({ due: real, requestId, keyId: "s-01-001" })]);
    connector.advance(minutes(11));
    expect(await connector.runCredentials("timer")).toMatchObject({ processed: 0 });
    expect(await connector.queue("key")).toMatchObject([{ at: real.at }]);
    expect(await connector.runCredentials("timer")).toMatchObject({ activated: 1 });
  });

  test("and no row at all is removed after 1 hour", async () => {
    const { connector, index } = await pending();
    const due = { queue: "reconcile", at: connector.now() } as const;
    const unknown = "7e57ab1e-0000-4000-8000-000000000000";
    await index.put([dueRow({ due, requestId: unknown })]);
    await index.put([dueRow({ due: { ...due, queue: "key" }, requestId: unknown, keyId: "s-01-001" })]);
    connector.advance(hours(1));
    await connector.runCredentials();
    expect([...(await connector.queue("reconcile")), ...(await connector.queue("key"))]).toHaveLength(2);
    connector.advance(1);
    await connector.runCredentials();
    expect([...(await connector.queue("reconcile")), ...(await connector.queue("key"))]).toEqual([]);
  });

  test("of an ended request is swept from the other queues, too", async () => {
    const { connector, requestId, index } = await pending();
    await connector.runJobs();
    await index.put([dueRow({ due: { queue: "poll", at: connector.now() }, requestId })]);
    connector.advance(minutes(11));
    await connector.runShipments("timer");
    expect(await connector.queue("poll")).toEqual([]);
    expect(await connector.queue("clean")).toHaveLength(1);
    expect(await connector.read(requestId)).toMatchObject({ state: "complete" });
  });
});
