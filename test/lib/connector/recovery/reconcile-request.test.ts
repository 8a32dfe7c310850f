import { setTimeout } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import type { Fetch } from "../../../../lib/platform/call-peer.ts";
import { PeerFailure } from "../../../../lib/platform/peer-failure.ts";
import { between, days, hours, minutes, plus, seconds } from "../../../../lib/platform/time.ts";
import { changedShipment, withIdps, withPort } from "../../../support/connector/changed-peers.ts";
import { crashing } from "../../../support/connector/crashing.ts";
import { unanswered } from "../../../support/connector/in-a-state.ts";
import { authenticator, mixedBody, onSiteBody } from "../../../support/connector/on-site.ts";
import {
  type ConnectorOptions,
  orderBody,
  peersOfFile,
  refusalOf,
  type TestConnector,
  testConnector,
  withoutPins,
} from "../../../support/connector/test-connector.ts";
import { altered, type Body } from "../api/bodies.ts";

const peers = await peersOfFile();
const ordered = () => peers.delivery.count("POST", /shipments$/);
const lookUps = () => peers.delivery.count("GET", /shipments$/);

const message =
  "The delivery service has not confirmed the shipment; it is being looked up for 3 days. " +
  "Before you order again, search there for the customer reference.";

/** Creates a request whose order gets no answer, and looks the order up for the first time. */
async function lookedUp(how: Parameters<typeof unanswered>[2], options: ConnectorOptions = {}) {
  const connector = await testConnector(peers, options);
  const requestId = await unanswered(connector, peers, how);
  connector.advance(minutes(15));
  await connector.runCredentials();
  return { connector, requestId };
}

/** Has another system order the same. Returns the id of its shipment. */
async function ofAnother(body: Body): Promise<string> {
  const { shipmentId = "" } = await (await testConnector(peers)).order(body);
  return shipmentId;
}

/** Looks up for as long as the decision has it. */
async function lookUpToTheEnd(connector: TestConnector): Promise<void> {
  for (let hour = 0; hour < 80; hour += 5) {
    connector.advance(hours(5));
    await connector.runCredentials("timer");
  }
}

/** The same order with a reference of the caller's own. */
const referenced = (body: Body = withoutPins(orderBody([1, 1]))): Body =>
  altered(body, { "shipment.customer_reference": body.recipient.email });

/** A look-up whose list of shipments is changed on its way. */
const listing =
  (change: (shipments: readonly object[]) => readonly object[]): Fetch =>
  async (url, init) => {
    const response = await fetch(url, init);
    if (!new URL(String(url)).searchParams.has("search")) return response;
    const list = (await response.json()) as { readonly shipments: readonly object[] };
    return Response.json({ ...list, shipments: change(list.shipments) });
  };

describe("a delivery call without an answer", () => {
  test("is reconciled from 15 minutes after the order intent, not before, on demand neither", async () => {
    const connector = await testConnector(peers);
    const requestId = await unanswered(connector, peers, { taken: true });
    connector.advance(minutes(15) - 1);
    await connector.runCredentials("on_demand");
    await connector.runCredentials("timer");
    expect(lookUps()).toBe(0);
    expect(await connector.read(requestId)).toMatchObject({ state: "received", error_message: message });
    connector.advance(1);
    await connector.runCredentials("timer");
    expect(lookUps()).toBe(1);
    const [linked] = connector.events("shipment_linked");
    expect(linked).toMatchObject({ credentialRequestId: requestId, shipmentId: expect.any(String) });
    expect(await connector.read(requestId)).toMatchObject({
      state: "started",
      shipment: { shipment_id: linked?.shipmentId },
    });
  });

  test("that was taken is found by the request's id, and the request continues to its end", async () => {
    const { connector, requestId } = await lookedUp({ taken: true, body: orderBody([2, 1]) });
    const row = await connector.requestRow(requestId);
    expect(row.errorMessage).toBeUndefined();
    expect(row.delivery).toMatchObject({ shipment: { tentative: true, id: expect.any(String) } });
    expect(await connector.context.requests.requestOfShipment(row.delivery?.shipment?.id ?? "")).toBe(requestId);

    await connector.runShipments("timer");
    expect((await connector.requestRow(requestId)).delivery?.shipment?.tentative).toBeUndefined();
    await connector.runCredentials();
    expect(await connector.read(requestId)).toMatchObject({ state: "complete" });
    expect(ordered()).toBe(1);
  });

  test("is looked up again, and ends failed after 3 days with what to check", async () => {
    const connector = await testConnector(peers);
    const requestId = await unanswered(connector, peers, { body: withoutPins(orderBody([1, 2])) });
    connector.advance(minutes(15));
    const marked = (await connector.requestRow(requestId)).delivery?.sentAt ?? "";
    for (;;) {
      await connector.runCredentials("timer");
      const { state, due, errorMessage } = await connector.requestRow(requestId);
      if (state !== "received") break;
      expect(errorMessage).toBe(message);
      connector.advance(between(connector.now(), due?.at ?? ""));
    }
    expect(between(marked, connector.now())).toBeGreaterThan(days(3));
    expect(between(marked, connector.now())).toBeLessThan(days(3) + hours(6));

    const read = await connector.read(requestId);
    expect(read).toMatchObject({
      state: "failed",
      error_message: expect.stringContaining("Search there for the customer reference"),
    });
    expect(read.shipment?.shipment_items.map(({ state }) => state)).toEqual(["failed", "failed"]);
    const { credentials } = await connector.keyRow(requestId, "s-02-001");
    expect(credentials.map(({ responseKey }) => typeof responseKey)).toEqual(["string", "string"]);
    expect(connector.events("shipment_not_found")).toHaveLength(1);
    expect(ordered()).toBe(1);
    expect(await connector.queue("reconcile")).toEqual([]);
  });

  test.each([
    ["cannot search", () => peers.delivery.settings({ search: false })],
    [
      "does not answer the look-up",
      () => peers.delivery.fail({ kind: "refuse", method: "GET", path: "shipments$", times: 1000 }),
    ],
  ])("ends failed after 3 days where the service %s", async (what, prepare) => {
    const connector = await testConnector(peers);
    const requestId = await unanswered(connector, peers, { taken: true });
    prepare();
    connector.advance(minutes(15));
    await connector.runCredentials();
    expect(await connector.read(requestId)).toMatchObject({ state: "received", error_message: message });
    const failed = connector.events("look_up_failed").map(({ error }) => (error as Error).name);
    expect(failed).toEqual(what === "cannot search" ? [] : ["PeerFailure"]);
    await lookUpToTheEnd(connector);
    expect(await connector.read(requestId)).toMatchObject({ state: "failed" });
  });
});

test("an order that is first looked up after the 3 days, when the connector is back before the delivery service, is found later", async () => {
  const connector = await testConnector(peers);
  const requestId = await unanswered(connector, peers, { taken: true });
  connector.advance(days(4));
  peers.delivery.fail({ kind: "refuse", status: 503, method: "GET", path: "shipments$", times: 6 });
  await connector.runCredentials("timer");
  expect(await connector.read(requestId)).toMatchObject({ state: "received", error_message: message });
  connector.advance(minutes(1));
  await connector.runCredentials("timer");
  expect(await connector.read(requestId)).toMatchObject({ state: "received" });
  connector.advance(minutes(2));
  await connector.runCredentials("timer");
  expect(await connector.read(requestId)).toMatchObject({ state: "started" });
});

describe("compensations at an IdP that does not answer", () => {
  const failedOrders = async (failure: PeerFailure) => {
    let isAway = true;
    const calls: unknown[] = [];
    const connector = await testConnector(peers, {
      limits: { callsAtOnce: 1 },
      ports: withIdps(() => ({
        compensate: async state => {
          calls.push(state);
          if (isAway) throw failure;
        },
        compensateUnanswered: async () => {},
      })),
    });
    peers.delivery.fail({
      kind: "refuse",
      status: 400,
      method: "POST",
      times: 5,
      body: { code: "blocked", message: "No." },
    });
    for (let order = 0; order < 5; order++) await refusalOf(connector.order(withoutPins(orderBody())));
    connector.advance(minutes(5));
    calls.length = 0;
    const comeBack = () => {
      isAway = false;
      calls.length = 0;
    };
    return { connector, calls, comeBack };
  };

  test("are tried three times by a run, and all by a later one", async () => {
    const { connector, calls, comeBack } = await failedOrders(new PeerFailure("IdP entra", "compensate", "unanswered"));
    await connector.runCredentials("timer");
    expect(calls).toHaveLength(3);
    expect(connector.events("peer_stopped")).toMatchObject([{ peer: "IdP entra" }]);
    comeBack();
    connector.advance(minutes(1));
    await connector.runCredentials("timer");
    expect(calls).toHaveLength(5);
    expect(await connector.queue("reconcile")).toEqual([]);
    expect(await connector.queue("clean")).toHaveLength(5);
  });

  test("are made for all requests if it refuses some of them", async () => {
    const { connector, calls } = await failedOrders(
      new PeerFailure("IdP entra", "compensate", "refused", { status: 400 }),
    );
    expect(await connector.runCredentials("timer")).toMatchObject({ deferred: 0 });
    expect(calls).toHaveLength(5);
  });
});

test("a create that crashed ends with the reason, also if its compensation failed before", async () => {
  const connector = await testConnector(peers);
  const dying = crashing("rfpr.put", "before", "all");
  void connector
    .anotherInstance(dying.options)
    .order(onSiteBody())
    .catch(() => undefined);
  await dying.died;
  const [{ requestId } = { requestId: "" }] = await connector.queue("reconcile");
  peers.rfpr.fail({ kind: "refuse", method: "DELETE", status: 500, times: 3 });
  const error_message = "The request was interrupted before it was started.";
  for (const state of ["received", "failed"]) {
    connector.advance(minutes(5));
    await connector.runCredentials("timer");
    expect(await connector.read(requestId)).toMatchObject({ state, error_message });
  }
});

test("the delivery service can be called while authenticators are removed after a look-up without result", async () => {
  let wasFree = false;
  const connector: TestConnector = await testConnector(peers, {
    limits: { callsAtOnce: 1 },
    ports: withPort("rfpr", ({ remove }) => ({
      remove: async id => {
        const turn = connector.context.peerLimits.of("delivery service").run(async () => "free");
        wasFree = (await Promise.race([turn, setTimeout(1000)])) === "free";
        return remove(id);
      },
    })),
  });
  const requestId = await unanswered(connector, peers, { body: withoutPins(mixedBody([1], [authenticator(1)])) });
  connector.advance(days(3) + 1);
  await connector.runCredentials("timer");
  expect(await connector.read(requestId)).toMatchObject({ state: "failed" });
  expect(wasFree).toBe(true);
});

describe("compensations that take long", () => {
  test("begin only while the lease outlasts the call, and the rest is done by a later run", async () => {
    const lateCalls: string[] = [];
    let refusedCalls = 0;
    let isSlow = false;
    const connector: TestConnector = await testConnector(peers, {
      limits: { callsAtOnce: 1 },
      ports: withIdps((_, clock) => ({
        compensate: async () => {
          if (!isSlow) {
            refusedCalls++;
            throw new PeerFailure("IdP entra", "compensate", "unanswered");
          }
          const [entry] = await connector.queue("reconcile");
          const { lease } = await connector.requestRow(entry?.requestId ?? "");
          const endsAt = plus(clock.now(), seconds(30));
          if ((lease?.until ?? "") < endsAt) lateCalls.push(endsAt);
          clock.advance(seconds(29));
        },
        compensateUnanswered: async () => {},
      })),
    });
    peers.delivery.fail({ kind: "refuse", status: 400, method: "POST", body: { code: "blocked", message: "No." } });
    await refusalOf(connector.order(withoutPins(orderBody([1, 1, 1, 1, 1, 1, 1, 1]))));
    await expect.poll(() => refusedCalls).toBe(8);
    connector.advance(minutes(5));
    isSlow = true;
    await connector.runCredentials("timer");
    expect(lateCalls).toEqual([]);
    expect(await connector.queue("reconcile")).toMatchObject([{ at: plus(connector.now(), minutes(1)) }]);
  });
});

describe("a shipment that looks like the order", () => {
  // The other fields: match-shipment.test.ts.
  test.each([
    ["recipient's name", { "recipient.last_name": "Byron" }],
    ["reference", { "shipment.customer_reference": "another" }],
  ])("is not linked with another %s", async (_, values) => {
    const body = referenced();
    await ofAnother(altered(body, values));
    const { connector, requestId } = await lookedUp({ body });
    expect(lookUps()).toBe(1);
    expect(await connector.read(requestId)).toMatchObject({ state: "received", error_message: message });
  });

  test.each([
    [minutes(5) - seconds(30), "started"],
    [minutes(5) + seconds(30), "received"],
  ])("made %i ms before the order intent: the request is %s then", async (ms, state) => {
    const body = referenced();
    await ofAnother(body);
    const connector = await testConnector(peers);
    connector.advance(ms);
    const requestId = await unanswered(connector, peers, { body });
    connector.advance(minutes(15));
    await connector.runCredentials();
    expect(await connector.read(requestId)).toMatchObject({ state });
  });

  test("is linked where the service lists it twice, under one id", async () => {
    const body = referenced();
    const { connector, requestId } = await lookedUp(
      { body, taken: true },
      { fetch: listing(shipments => [...shipments, ...shipments]) },
    );
    expect(await connector.read(requestId)).toMatchObject({ state: "started" });
  });

  test("and belongs to another request is not linked again where the service writes its id in another case", async () => {
    const body = referenced(orderBody([1, 1]));
    const shipmentId = await ofAnother(body);
    const inCapitals = changedShipment(shipment => ({ ...shipment, shipment_id: shipmentId.toUpperCase() }));
    const connector = await testConnector(peers, inCapitals);
    const requestId = await unanswered(connector, peers, { body });
    connector.advance(minutes(15));
    for (let run = 0; run < 3; run++) {
      await connector.runCredentials();
      await connector.runShipments();
    }
    expect(connector.events("shipment_link_rejected")).toMatchObject([{ shipmentId }]);
    await lookUpToTheEnd(connector);
    expect(await connector.read(requestId)).toMatchObject({ state: "failed" });
  });

  test("and belongs to another request: a look-up without an answer after its polls does not end the request", async () => {
    const body = referenced(orderBody([1, 1]));
    const shipmentId = await ofAnother(body);
    await peers.delivery.control(shipmentId, { state: 101 });
    const { connector, requestId } = await lookedUp({ body });
    for (let poll = 0; poll < 12; poll++) {
      connector.advance(hours(7));
      await connector.runShipments("timer");
    }
    await peers.delivery.control(shipmentId, { ship: true });
    connector.advance(hours(7));
    await connector.runShipments("timer");
    expect(connector.events("shipment_link_rejected")).toHaveLength(1);
    peers.delivery.fail({ kind: "refuse", status: 503, method: "GET", path: "shipments$", times: 6 });
    await connector.runCredentials("timer");
    expect(await connector.read(requestId)).toMatchObject({ state: "received", error_message: message });
  });

  test("and belongs to another request is no candidate beside the own one", async () => {
    const body = referenced();
    const connector = await testConnector(peers);
    const { shipmentId: theirs } = await connector.order(body);
    const requestId = await unanswered(connector, peers, { body, taken: true });
    connector.advance(minutes(15));
    await connector.runCredentials();
    const { state, shipment } = await connector.read(requestId);
    expect(state).toBe("started");
    expect(shipment?.shipment_id).not.toBe(theirs);
  });

  test("is linked to one of two requests that wait for it, whichever job is first", async () => {
    const body = referenced();
    const connector = await testConnector(peers);
    const requests = [
      await unanswered(connector, peers, { body, taken: true }),
      await unanswered(connector, peers, { body }),
    ];
    connector.advance(minutes(15));
    await Promise.all([connector.runCredentials(), connector.anotherInstance().runCredentials()]);
    const states = await Promise.all(requests.map(async id => (await connector.read(id)).state));
    expect(states.toSorted()).toEqual(["received", "started"]);
  });

  test("and was linked to another request that waited for it completes the right one, also if it ships after the 3 days", async () => {
    const body = referenced();
    const connector = await testConnector(peers);
    const other = await unanswered(connector, peers, { body });
    connector.advance(minutes(1));
    const requestId = await unanswered(connector, peers, { body, taken: true });
    const shipmentId = (await peers.delivery.shipments()).at(-1)?.id ?? "";
    await peers.delivery.control(shipmentId, { state: 101 });
    connector.advance(minutes(14));
    await connector.runCredentials("timer");
    expect(await connector.context.requests.requestOfShipment(shipmentId)).toBe(other);
    await lookUpToTheEnd(connector);
    expect(await connector.read(requestId)).toMatchObject({ state: "received", error_message: message });

    await peers.delivery.control(shipmentId, { ship: true });
    await connector.runShipments("timer");
    connector.advance(hours(6));
    for (let run = 0; run < 2; run++) await connector.runJobs();
    expect(await connector.read(requestId)).toMatchObject({ state: "complete", shipment: { shipment_id: shipmentId } });
    expect(await connector.read(other)).toMatchObject({ state: "failed" });
  });

  test("is not linked where there are several", async () => {
    const body = referenced();
    await ofAnother(body);
    const { connector, requestId } = await lookedUp({ body, taken: true });
    expect(await connector.read(requestId)).toMatchObject({ state: "received", error_message: message });
    await lookUpToTheEnd(connector);
    expect(await connector.read(requestId)).toMatchObject({ state: "failed" });
    expect(connector.events("shipment_not_found")).toMatchObject([{ candidates: 2 }]);
  });

  test("and belongs to another request is released as soon as its responses do not open, never activated, and not linked again", async () => {
    const body = referenced(orderBody([1, 1]));
    const shipmentId = await ofAnother(body);
    const { connector, requestId } = await lookedUp({ body });
    expect(await connector.read(requestId)).toMatchObject({ state: "started", shipment: { shipment_id: shipmentId } });

    const registered = peers.entra.registrations().length;
    await connector.runShipments();
    const read = await connector.read(requestId);
    expect(read).toMatchObject({ state: "received", error_message: message });
    expect(read.shipment?.shipment_id).toBeUndefined();
    expect(await connector.context.requests.requestOfShipment(shipmentId)).toBeUndefined();
    expect(connector.events("shipment_link_rejected")).toMatchObject([{ shipmentId }]);

    await connector.runCredentials();
    expect(await connector.read(requestId)).toMatchObject({ state: "received" });
    await lookUpToTheEnd(connector);
    expect(await connector.read(requestId)).toMatchObject({ state: "failed" });
    expect(peers.entra.registrations()).toHaveLength(registered);
    expect(peers.mail.mails().filter(({ to }) => to.includes(body.recipient.email))).toEqual([]);
  });

  test("is not confirmed by responses that are no such thing", async () => {
    const body = referenced(orderBody([1, 1]));
    const shipmentId = await ofAnother(body);
    const { connector, requestId } = await lookedUp({ body });
    await peers.delivery.control(shipmentId, { sabotage: "garbage" });
    await connector.runShipments();
    expect((await connector.requestRow(requestId)).delivery).toMatchObject({
      shipment: { tentative: true, id: shipmentId },
    });
    await peers.delivery.control(shipmentId, { sabotage: null });
    await connector.runShipments();
    expect(await connector.read(requestId)).toMatchObject({ state: "received" });
  });

  test("and belongs to another request gives way to the request's own one", async () => {
    const body = referenced();
    const others = await testConnector(peers);
    const other = await others.order(body);
    await peers.delivery.control(other.shipmentId ?? "", { state: 101 });
    const { connector, requestId } = await lookedUp({ body });
    expect(await connector.read(requestId)).toMatchObject({ shipment: { shipment_id: other.shipmentId } });
    // The order without a response exists after all, and is found only now.
    const late = await testConnector(peers);
    const own = await late.order(body);
    await peers.delivery.control(other.shipmentId ?? "", { ship: true });
    await connector.runShipments();
    expect(await connector.read(requestId)).toMatchObject({ state: "received" });
    await connector.runCredentials();
    expect(await connector.read(requestId)).toMatchObject({
      state: "started",
      shipment: { shipment_id: own.shipmentId },
    });
  });
});
