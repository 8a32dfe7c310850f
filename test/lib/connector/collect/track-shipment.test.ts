import { describe, expect, test } from "vitest";
import { withTrackDue } from "../../../../lib/connector/model/next-due.ts";
import type { Shipment } from "../../../../lib/connector/model/request.ts";
import { withLostRevoked } from "../../../../lib/connector/model/revocation.ts";
import { resendPin } from "../../../../lib/connector/pin/resend-pin.ts";
import { between, days, hours, minutes, plus, seconds } from "../../../../lib/platform/time.ts";
import { changedKeys, withPort } from "../../../support/connector/changed-peers.ts";
import { crashing } from "../../../support/connector/crashing.ts";
import { connectorWith, sinkOfFile } from "../../../support/connector/event-sinks.ts";
import { idAt, mixedBody } from "../../../support/connector/on-site.ts";
import {
  type ConnectorOptions,
  orderBody,
  peersOfFile,
  type TestConnector,
  testConnector,
} from "../../../support/connector/test-connector.ts";

const peers = await peersOfFile();
const sink = await sinkOfFile(peers.vault, 1);
const calls = () => peers.delivery.count("GET", /shipments\/./);

interface OnItsWay {
  readonly connector: TestConnector;
  readonly requestId: string;
  readonly shipmentId: string;
}

/** A complete request whose parcel is on its way, in state 103. */
async function onItsWay(options: ConnectorOptions = {}, on?: TestConnector): Promise<OnItsWay> {
  const connector = on ?? (await testConnector(peers, options));
  const { requestId, shipmentId = "" } = await connector.orderAndRun();
  expect(await connector.read(requestId)).toMatchObject({ state: "complete" });
  return { connector, requestId, shipmentId };
}

/** Runs the timer when the next look at the shipment is due. Returns the wait before it, in hours. */
async function lookAgain({ connector, requestId }: OnItsWay): Promise<number> {
  const { trackDue } = await connector.requestRow(requestId);
  const waitMs = between(connector.now(), trackDue?.at ?? "");
  connector.advance(waitMs);
  await connector.runShipments("timer");
  return waitMs / hours(1);
}

const deliveryOf = async ({ connector, requestId }: OnItsWay) => (await connector.read(requestId)).shipment?.delivery;

describe("a shipment whose responses came", () => {
  test.each([
    [104, "delivered", undefined],
    [105, "lost", "The delivery service reports: Shipment Lost/Missing"],
    [106, "exception", "The delivery service reports: Delivery Exception"],
  ])("is tracked until state %i: it is %s, and its request stays complete", async (state, delivery, error_message) => {
    const one = await onItsWay();
    const { connector, requestId, shipmentId } = one;
    const shipped_at = connector.now();
    expect(await deliveryOf(one)).toEqual({ state: "in_transit", shipped_at });
    await lookAgain(one);
    expect(await deliveryOf(one)).toEqual({ state: "in_transit", shipped_at });
    await peers.delivery.control(shipmentId, { state });
    await lookAgain(one);
    const ended_at = connector.now();
    const ended = { state: delivery, ...(error_message && { error_message }), shipped_at, ended_at };
    expect(await deliveryOf(one)).toEqual(ended);
    const read = await connector.read(requestId);
    expect(read.state).toBe("complete");
    expect(read.error_message).toBeUndefined();
    expect(await connector.queue("track")).toEqual([]);
    expect(await connector.queue("clean")).toHaveLength(1);
    connector.advance(days(2));
    peers.delivery.resetRequests();
    expect(await connector.runShipments()).toMatchObject({ tracked: 0, answered: 0 });
    expect(calls()).toBe(0);
    expect(await deliveryOf(one)).toEqual(ended);
    const event = { credentialRequestId: requestId, shipmentId, state: delivery, keys: 1 };
    expect(connector.events("delivery_state")).toMatchObject([{ state: "in_transit" }, event]);
  });

  test("is asked for after 1 hour, backing off to 6, and for 30 days: then its delivery is unknown", async () => {
    const one = await onItsWay();
    const shippedAt = one.connector.now();
    peers.delivery.resetRequests();
    const waits: number[] = [];
    while ((await one.connector.queue("track")).length > 0) waits.push(await lookAgain(one));
    expect(waits.slice(0, 6)).toEqual([1, 1, 2, 4, 6, 6]);
    expect(Math.max(...waits)).toBe(6);
    expect(calls()).toBe(waits.length);
    expect(waits.length).toBeLessThan(130);
    expect(one.connector.now()).toBe(plus(shippedAt, days(30)));
    expect(await deliveryOf(one)).toMatchObject({ state: "unknown", ended_at: one.connector.now() });
  });

  test("ends with the first poll if that reports the delivery", async () => {
    const connector = await testConnector(peers);
    const { requestId, shipmentId = "" } = await connector.order();
    await peers.delivery.control(shipmentId, { state: 104 });
    await connector.runJobs();
    expect(await connector.queue("track")).toEqual([]);
    expect(await deliveryOf({ connector, requestId, shipmentId })).toMatchObject({ state: "delivered" });
  });

  test("has its responses neither opened nor stored again", async () => {
    const opened: string[] = [];
    const noting =
      <A extends readonly unknown[], R>(name: string, call: (...of: A) => R) =>
      (...of: A): R => {
        opened.push(name);
        return call(...of);
      };
    const one = await onItsWay();
    const key = await one.connector.keyRow(one.requestId);
    await peers.delivery.control(one.shipmentId, { sabotage: "garbage" });
    const watching = one.connector.anotherInstance({
      ports: ({ sealer, responses, delivery }) => ({
        sealer: { ...sealer, open: noting("sealer", sealer.open) },
        responses: { ...responses, put: noting("responses", responses.put) },
        delivery: { ...delivery, signingKey: noting("signing key", delivery.signingKey) },
      }),
    });
    await lookAgain({ ...one, connector: watching });
    expect(watching.events("poll_failed")).toEqual([]);
    expect(opened).toEqual([]);
    expect(await one.connector.keyRow(one.requestId)).toEqual(key);
  });

  test("has a tracking number from then on that it gets late, in a later email too", async () => {
    const connector = await testConnector(peers);
    const { requestId, shipmentId = "" } = await connector.order();
    const one = { connector, requestId, shipmentId };
    await peers.delivery.control(shipmentId, { tracked: false });
    await connector.runJobs();
    expect(peers.mail.mails().at(-1)?.text).not.toContain("SIM-");
    expect((await connector.read(requestId)).shipment?.tracking).toBeUndefined();
    await peers.delivery.control(shipmentId, { tracked: true });
    await lookAgain(one);
    const tracking = (await connector.read(requestId)).shipment?.tracking;
    expect(tracking).toEqual({ number: expect.stringMatching(/^SIM-/), link: expect.stringContaining("SIM-") });
    await peers.delivery.control(shipmentId, { tracked: false });
    await lookAgain(one);
    expect((await connector.read(requestId)).shipment?.tracking).toEqual(tracking);
    await resendPin(requestId, connector.context);
    expect(peers.mail.mails().at(-1)?.text).toContain(tracking?.number);
  });

  test("waits while the delivery service refuses the token, with one error event for each run", async () => {
    const one = await onItsWay();
    const other = await onItsWay({}, one.connector);
    peers.delivery.fail({ kind: "refuse", path: "shipments/", status: 401, times: 10 });
    await lookAgain(one);
    expect(one.connector.events("delivery_token_refused")).toHaveLength(1);
    peers.delivery.clearFaults();
    expect(await one.connector.runShipments("timer")).toMatchObject({ tracked: 2 });
    expect(await deliveryOf(other)).toMatchObject({ state: "in_transit" });
  });

  test.each<[string, (one: OnItsWay) => unknown]>([
    ["is away", () => peers.delivery.fail({ kind: "drop", path: "shipments/", times: 1000 })],
    ["does not know it any more", ({ shipmentId }) => peers.delivery.control(shipmentId, { delete: true })],
  ])("is unknown after 30 days also if the delivery service %s", async (_, prepare) => {
    const one = await onItsWay();
    await prepare(one);
    await lookAgain(one);
    expect(await deliveryOf(one)).toMatchObject({ state: "in_transit" });
    one.connector.advance(days(30));
    await one.connector.runShipments("timer");
    expect(await deliveryOf(one)).toMatchObject({ state: "unknown" });
    expect(one.connector.events("all_shipments_missing")).toEqual([]);
    expect(await one.connector.queue("track")).toEqual([]);
  });

  test("is left alone while a cancel of the rest of its request has the lease", async () => {
    const { connector, requestId } = await onItsWay();
    const loaded = await connector.load(requestId);
    const lease = { owner: "cancel", until: plus(connector.now(), hours(2)) };
    await connector.context.requests.save(loaded, { request: { ...loaded.request, lease } });
    peers.delivery.resetRequests();
    for (const expected of [0, 1]) {
      connector.advance(hours(1));
      await connector.runShipments("timer");
      expect(calls()).toBe(expected);
    }
  });

  test("is tracked also if its responses came too late", async () => {
    const connector = await testConnector(peers);
    const { requestId, shipmentId = "" } = await connector.order();
    await peers.delivery.control(shipmentId, { state: 103, sabotage: "garbage" });
    await connector.runShipments();
    expect(await connector.queue("track")).toEqual([]);
    connector.advance(days(200));
    await connector.runShipments();
    const delivery = { state: "unknown", ended_at: connector.now() };
    expect(await connector.read(requestId)).toMatchObject({ state: "failed", shipment: { delivery } });
    expect([...(await connector.queue("poll")), ...(await connector.queue("track"))]).toEqual([]);
  });

  test("is not tracked before it is shipped, while its link is tentative, or after its end", async () => {
    const one = await onItsWay();
    const { context } = one.connector;
    const { trackDue, ...request } = await one.connector.requestRow(one.requestId);
    const keys = [await one.connector.keyRow(one.requestId)];
    const { shippedAt = "", ...shipment } = request.delivery?.shipment ?? { id: "" };
    const nextLook = (changed: Shipment) =>
      withTrackDue({ ...request, delivery: { shipment: changed } }, keys, context);
    expect(nextLook({ ...shipment, shippedAt }).trackDue).toEqual(trackDue);
    expect(nextLook(shipment).trackDue).toBeUndefined();
    expect(nextLook({ ...shipment, shippedAt, tentative: true }).trackDue).toBeUndefined();
    expect(nextLook({ ...shipment, shippedAt, endedAt: shippedAt }).trackDue).toBeUndefined();
  });
});

describe("the credentials of a shipment that is lost", () => {
  const revoking = { settings: { ON_LOSS: "revoke" } };
  const revocationsOf = async (connector: TestConnector, requestId: string) =>
    (await connector.load(requestId)).keys.map(key => key.credentials.map(each => each.revocation?.reason));
  const registered = (user: string) => peers.entra.registrations().filter(({ userId }) => userId === user).length;

  test("are revoked by ON_LOSS=revoke, on its shipped keys only", async () => {
    const connector = await testConnector(peers, revoking);
    const { requestId, shipmentId = "" } = await connector.order(mixedBody());
    await connector.runShipments();
    await peers.rfpr.enroll(idAt(requestId));
    await connector.runCredentials();
    expect(await connector.read(requestId)).toMatchObject({ state: "complete" });
    const [{ userId } = { userId: "" }] = (await connector.keyRow(requestId)).credentials;
    expect(registered(userId)).toBe(1);
    await peers.delivery.control(shipmentId, { state: 105 });
    await lookAgain({ connector, requestId, shipmentId });
    expect(await revocationsOf(connector, requestId)).toEqual([[undefined], ["lost"]]);
    expect(await connector.queue("track")).toEqual([]);
    expect(connector.events("revocation_requested")).toMatchObject([
      { reason: "lost", credentialRequestId: requestId },
    ]);
    await connector.runCredentials();
    expect(registered(userId)).toBe(0);
    const [, key] = (await connector.load(requestId)).keys;
    expect(key?.credentials).toMatchObject([{ state: "active", revocation: { state: "revoked" } }]);
  });

  test.each([
    [105, {}],
    [106, revoking],
  ])("stay where the state is %i and the settings are %j", async (state, options) => {
    const one = await onItsWay(options);
    await peers.delivery.control(one.shipmentId, { state });
    await lookAgain(one);
    expect(await revocationsOf(one.connector, one.requestId)).toEqual([[undefined]]);
  });

  test("are revoked after their activation if the first poll reports the loss", async () => {
    const connector = await testConnector(peers, revoking);
    const { requestId, shipmentId = "" } = await connector.order();
    await peers.delivery.control(shipmentId, { state: 105 });
    await connector.runJobs();
    expect(await revocationsOf(connector, requestId)).toEqual([[undefined]]);
    await lookAgain({ connector, requestId, shipmentId });
    expect(await revocationsOf(connector, requestId)).toEqual([["lost"]]);
    expect(await connector.queue("track")).toEqual([]);
  });

  test("are revoked while other keys of the shipment still wait for their responses", async () => {
    const connector = await testConnector(peers, {
      ...revoking,
      ...changedKeys((key, item) => (item === 0 ? key : null)),
    });
    const { requestId, shipmentId = "" } = await connector.orderAndRun(orderBody([1, 1]));
    expect(await connector.read(requestId)).toMatchObject({ state: "started" });
    await peers.delivery.control(shipmentId, { state: 105 });
    connector.advance(hours(1));
    await connector.runShipments("timer");
    expect(await revocationsOf(connector, requestId)).toEqual([["lost"], [undefined]]);
    expect(await connector.queue("poll")).toHaveLength(1);
  });

  test("are not revoked once more by later reports of the loss after the revocation has failed", async () => {
    const one = await onItsWay(revoking);
    const { connector, requestId } = one;
    await peers.delivery.control(one.shipmentId, { state: 105 });
    await lookAgain(one);
    const { request, keys } = await connector.load(requestId);
    const failed = keys.map(key => ({
      ...key,
      credentials: key.credentials.map(each => ({
        ...each,
        ...(each.revocation && { revocation: { ...each.revocation, state: "revoke_failed" as const } }),
      })),
    }));
    expect(withLostRevoked(failed, request, connector.context)).toEqual(failed);
  });
});

test("a shipment that is deleted after it was shipped, before its responses came, is cancelled and unknown", async () => {
  const { connector } = await onItsWay();
  const { requestId, shipmentId = "" } = await connector.order();
  await peers.delivery.control(shipmentId, { state: 103, sabotage: "garbage" });
  await connector.runShipments();
  await peers.delivery.control(shipmentId, { delete: true });
  for (let poll = 0; poll < 3; poll++) {
    connector.advance(hours(12));
    await connector.runShipments();
  }
  const read = await connector.read(requestId);
  expect(read).toMatchObject({ state: "cancelled", shipment: { delivery: { state: "unknown" } } });
  expect((await connector.requestRow(requestId)).trackDue).toBeUndefined();
});

describe("a look at a shipment during which its request is written", () => {
  /** Looks at a shipment that is lost, and does something between the answer and the save. */
  async function lookDuring(one: OnItsWay, meanwhile: (connector: TestConnector) => Promise<unknown>) {
    await peers.delivery.control(one.shipmentId, { state: 105 });
    const slow = one.connector.anotherInstance({
      ports: withPort("delivery", ({ getShipment }) => ({
        getShipment: async id => {
          const found = await getShipment(id);
          await meanwhile(one.connector);
          return found;
        },
      })),
    });
    one.connector.advance(hours(1));
    const { tracked } = await slow.runShipments("timer");
    return { tracked, conflicts: slow.events("poll_conflict").length };
  }

  test("is saved with what a job of its credentials has written", async () => {
    const connector = await connectorWith(peers, [sink], { settings: { ON_LOSS: "revoke" } });
    const { requestId, shipmentId = "" } = await connector.orderAndPoll();
    const one = { connector, requestId, shipmentId };
    expect(await lookDuring(one, () => connector.runCredentials())).toEqual({ tracked: 1, conflicts: 0 });
    expect(await connector.read(requestId)).toMatchObject({
      state: "complete",
      shipment: { delivery: { state: "lost" } },
    });
    expect((await connector.keyRow(requestId)).credentials).toMatchObject([
      { state: "active", revocation: { state: "revoking", reason: "lost" } },
    ]);
  });

  test.each<[string, string, (one: OnItsWay) => Promise<unknown>]>([
    [
      "another run has saved a later answer",
      "delivered",
      async ({ connector, shipmentId }) => {
        await peers.delivery.control(shipmentId, { state: 104 });
        expect(await connector.runShipments("timer")).toMatchObject({ tracked: 1 });
      },
    ],
    [
      "a cancel has taken the lease",
      "in_transit",
      async ({ connector, requestId }) => {
        const loaded = await connector.load(requestId);
        const lease = { owner: "cancel", until: plus(connector.now(), minutes(3)) };
        await connector.context.requests.save(loaded, { request: { ...loaded.request, lease } });
      },
    ],
  ])("is not saved, and not counted, if %s", async (_, state, meanwhile) => {
    const one = await onItsWay();
    expect(await lookDuring(one, () => meanwhile(one))).toEqual({ tracked: 0, conflicts: 1 });
    expect(await deliveryOf(one)).toMatchObject({ state });
  });
});

describe("the clean-up of a request", () => {
  test("comes at its time while the shipment is on its way, and leaves nothing to track", async () => {
    const one = await onItsWay();
    const { connector, requestId } = one;
    while (between((await connector.requestRow(requestId)).terminalAt ?? "", connector.now()) < days(6))
      await lookAgain(one);
    connector.advance(days(7) - between((await connector.requestRow(requestId)).terminalAt ?? "", connector.now()) - 1);
    expect(await connector.runCleanUp(7)).toMatchObject({ deleted: 0 });
    connector.advance(1);
    // It does not wait for a delivery service that is away.
    peers.delivery.fail({ kind: "drop", path: "shipments/", times: 1000 });
    await connector.runShipments("timer");
    expect(await connector.runCleanUp(7)).toMatchObject({ deleted: 1 });
    expect(await connector.queue("track")).toEqual([]);
  });

  test("is not undone by a look at the shipment that it overtakes", async () => {
    const one = await onItsWay();
    const { connector, requestId } = one;
    connector.advance(days(7));
    const overtaken = connector.anotherInstance({
      ports: withPort("delivery", ({ getShipment }) => ({
        getShipment: async id => {
          const found = await getShipment(id);
          expect(await connector.runCleanUp(7)).toMatchObject({ deleted: 1 });
          return found;
        },
      })),
    });
    await overtaken.runShipments("timer");
    expect(await connector.context.requests.load(requestId)).toBeUndefined();
    // The index row of the next look, which was written before the rows, is removed when it is old.
    connector.advance(days(1));
    await connector.runShipments("timer");
    expect(await connector.queue("track")).toEqual([]);
  });
});

describe("shipments on their way", () => {
  test("cost one call and four of storage each, and none if they are not due, also on demand", async () => {
    const one = await onItsWay();
    const { connector } = one;
    peers.delivery.resetRequests();
    const idle = await connector.counted(() => connector.runShipments("on_demand"));
    expect(calls()).toBe(0);
    connector.advance(hours(1));
    const { total, sequential } = await connector.counted(() => connector.runShipments("timer"));
    expect(calls()).toBe(1);
    // Load, new index row, row, old index row.
    expect([total - idle.total, sequential - idle.sequential]).toEqual([4, 4]);
  });

  test("come after every other shipment", async () => {
    const { connector } = await onItsWay();
    for (let n = 0; n < 5; n++) await onItsWay({}, connector);
    const placed = [await connector.order(), await connector.order()];
    connector.advance(hours(1));
    const asked: string[] = [];
    const slow = connector.anotherInstance({
      ports: withPort("delivery", ({ getShipment }, clock) => ({
        getShipment: id => {
          asked.push(id);
          clock.advance(seconds(100));
          return getShipment(id);
        },
      })),
    });
    const report = await slow.runShipments("timer");
    expect(asked.slice(0, 2).sort()).toEqual(placed.map(({ shipmentId }) => shipmentId).sort());
    expect(asked.length).toBeGreaterThan(2);
    expect(report).toMatchObject({ answered: 2 });
    expect(report.deferred).toBeGreaterThan(0);
  });
});

describe("a host that dies at any call while it looks at a shipment on its way", () => {
  test.each(["before", "after"] as const)(
    "%s the call is made: its end is reported once, its credentials are revoked, and nothing is left",
    async phase => {
      const died: string[] = [];
      for (let step = 0; ; step++) {
        const one = await onItsWay({}, await connectorWith(peers, [sink], { settings: { ON_LOSS: "revoke" } }));
        const { connector, requestId } = one;
        await peers.delivery.control(one.shipmentId, { state: 105 });
        connector.advance(hours(1));
        const dying = crashing(step, phase, "all");
        const { tables, ports } = dying.options;
        const dead = connector.anotherInstance({
          tables,
          ports: (context, clock) => ({ ...ports(context, clock), sendEventsAfterJob: async () => {} }),
        });
        const run = dead.runShipments("timer");
        const call = await Promise.race([dying.died, run.then(() => undefined)]);
        if (call === undefined) break;
        died.push(call);
        const check = async () => {
          for (const ms of [minutes(20), days(1)]) {
            connector.advance(ms);
            await connector.runShipments("timer");
          }
          expect(await deliveryOf(one), call).toMatchObject({ state: "lost" });
          expect(await connector.queue("track"), call).toEqual([]);
          expect((await connector.requestRow(requestId)).lease, call).toBeUndefined();
          const { credentials, due } = await connector.keyRow(requestId);
          expect(credentials, call).toMatchObject([{ revocation: { state: "revoking", reason: "lost" } }]);
          expect(
            (await connector.queue("key")).map(({ at }) => at),
            call,
          ).toContain(due?.at);
          const { events } = await connector.context.events.load(requestId);
          const ends = events.filter(({ type }) => type === "key.delivery_failed");
          expect(ends, call).toMatchObject([{ keyId: "s-01-001", state: "lost", serial: expect.any(String) }]);
        };
        await check();
        dying.goOn();
        await run;
        await check();
      }
      // The look, the index rows of the revocation and of the events, the rows, the former index rows.
      expect(died.map(call => call.replace(/^\d+: /, ""))).toEqual([
        "delivery.getShipment",
        "due.upsert",
        "due.upsert",
        "credentialrequests.transact",
        "due.remove",
        "due.remove",
      ]);
    },
  );
});
