import { describe, expect, test } from "vitest";
import type { Fetch } from "../../../../lib/platform/call-peer.ts";
import { PeerFailure } from "../../../../lib/platform/peer-failure.ts";
import { between, days, hours, minutes, plus } from "../../../../lib/platform/time.ts";
import { withPort } from "../../../support/connector/changed-peers.ts";
import { crashing } from "../../../support/connector/crashing.ts";
import {
  orderBody,
  peersOfFile,
  refusalOf,
  type TestConnector,
  testConnector,
  withoutPins,
} from "../../../support/connector/test-connector.ts";
import { altered, type Body } from "../api/bodies.ts";

const peers = await peersOfFile();
const lookUps = () => peers.delivery.count("GET", /shipments$/);

interface List {
  readonly total_count?: number;
  readonly shipments: readonly object[];
}

/** The list of each look-up, changed on its way. */
const listing =
  (change: (list: List) => List): Fetch =>
  async (url, init) => {
    const response = await fetch(url, init);
    if (!new URL(String(url)).searchParams.has("search")) return response;
    return Response.json(change((await response.json()) as List));
  };
const nothing: List = { total_count: 0, shipments: [] };

/** A request whose create handler died right before, or right after, its call of the delivery service. */
async function crashed(
  connector: TestConnector,
  phase: "before" | "after" = "before",
  body: Body = withoutPins(orderBody()),
) {
  const known = (await connector.queue("reconcile")).map(each => each.requestId);
  const dying = crashing("delivery.createShipment", phase);
  void connector
    .anotherInstance(dying.options)
    .order(body)
    .catch(() => undefined);
  await dying.died;
  const created = (await connector.queue("reconcile")).find(each => !known.includes(each.requestId));
  connector.advance(minutes(15));
  return created?.requestId ?? "";
}

/** Runs the job whenever the request is due, for this time or until it has ended. Returns its state and how long it took. */
async function runFor(connector: TestConnector, requestId: string, ms: number) {
  const start = connector.now();
  for (;;) {
    await connector.runCredentials("timer");
    const { state, due } = await connector.requestRow(requestId);
    const passed = between(start, connector.now());
    if (state !== "received" || passed >= ms) return { state, passed };
    connector.advance(Math.max(minutes(1), between(connector.now(), due?.at ?? connector.now())));
  }
}

const stillOpen = { state: "received" };

describe("an order intent that a crash has left", () => {
  test("ends when the delivery service has said for an hour that it does not know the order", async () => {
    const connector = await testConnector(peers);
    const requestId = await crashed(connector);
    const { state, passed } = await runFor(connector, requestId, days(3));
    expect(state).toBe("failed");
    expect(passed).toBeGreaterThanOrEqual(hours(1));
    expect(passed).toBeLessThan(hours(2));
    expect(lookUps()).toBe(7);
    expect(await connector.read(requestId)).toMatchObject({
      error_message: expect.stringContaining("Search there for the customer reference"),
    });
    expect(connector.events("shipment_not_found")).toHaveLength(1);
    expect(await connector.queue("reconcile")).toEqual([]);
  });

  test("is not ended by many answers within less than an hour, nor by two over more", async () => {
    const connector = await testConnector(peers);
    const requestId = await crashed(connector);
    for (let run = 0; run < 10; run++) {
      await connector.runCredentials("on_demand");
      connector.advance(minutes(5));
    }
    expect(await connector.requestRow(requestId)).toMatchObject(stillOpen);
    const other = await crashed(connector);
    await connector.runCredentials("on_demand");
    connector.advance(hours(9));
    await connector.runCredentials("on_demand");
    expect(await connector.requestRow(other)).toMatchObject(stillOpen);
  });

  test("is linked to its shipment if the delivery service lists it late", async () => {
    let isHidden = true;
    const connector = await testConnector(peers, { fetch: listing(list => (isHidden ? nothing : list)) });
    const requestId = await crashed(connector, "after");
    expect(await runFor(connector, requestId, minutes(30))).toMatchObject(stillOpen);
    isHidden = false;
    expect(await runFor(connector, requestId, hours(1))).toMatchObject({ state: "started" });
    const { missing, ...delivery } = (await connector.requestRow(requestId)).delivery ?? {};
    expect([missing, delivery.shipment?.tentative]).toEqual([undefined, true]);
  });

  test.each<[string, Fetch]>([
    ["does not say how many shipments it has", listing(({ shipments }) => ({ shipments }))],
    ["has more than it lists", listing(list => ({ ...list, total_count: 1 }))],
    ["lists one that is not readable", listing(() => ({ total_count: 1, shipments: [{}] }))],
    [
      "does not answer",
      async (url, init) => (String(url).includes("search=") ? new Response("", { status: 503 }) : fetch(url, init)),
    ],
    [
      "has no such search",
      async (url, init) => (String(url).includes("search=") ? new Response("", { status: 404 }) : fetch(url, init)),
    ],
  ])("waits for three days if the delivery service %s, which does not tell", async (_, answer) => {
    const connector = await testConnector(peers, { fetch: answer });
    const requestId = await crashed(connector);
    expect(await runFor(connector, requestId, hours(60))).toMatchObject(stillOpen);
    expect((await connector.requestRow(requestId)).delivery?.missing).toBeUndefined();
    expect(await runFor(connector, requestId, hours(24))).toMatchObject({ state: "failed" });
  });

  test("waits if the delivery service lists its order with another address", async () => {
    const moved = listing(({ shipments, ...list }) => ({
      ...list,
      shipments: shipments.map(shipment => ({ ...shipment, mailing_address: { city: "Boston" } })),
    }));
    const connector = await testConnector(peers, { fetch: moved });
    const requestId = await crashed(connector, "after");
    expect(await runFor(connector, requestId, hours(10))).toMatchObject(stillOpen);
  });

  test("ends although the delivery service lists another request's shipment with its reference", async () => {
    const connector = await testConnector(peers);
    const body = withoutPins(orderBody());
    const referenced = (each: Body): Body => altered(each, { "shipment.customer_reference": body.recipient.email });
    await connector.order(referenced(body));
    await connector.order(referenced(withoutPins(orderBody())));
    await connector.runShipments();
    const requestId = await crashed(connector, "before", referenced(body));
    expect(await runFor(connector, requestId, hours(3))).toMatchObject({ state: "failed" });
  });

  test("waits if the search does not find the known shipment of another request either", async () => {
    const connector = await testConnector(peers, { fetch: listing(() => nothing) });
    const other = await connector.orderAndPoll();
    const requestId = await crashed(connector);
    expect(await runFor(connector, requestId, hours(10))).toMatchObject(stillOpen);
    expect(connector.events("search_not_trusted")).toContainEqual(
      expect.objectContaining({ credentialRequestId: requestId, otherRequestId: other.requestId }),
    );
  });
});

describe("an order that was sent and not answered", () => {
  /** A connector whose order gets no answer, while the job runs `runAfterMs` after the intent. */
  const unansweredDuringRun = async (runAfterMs: number) => {
    const connector: TestConnector = await testConnector(peers, {
      ports: withPort("delivery", (_, clock) => ({
        createShipment: async () => {
          clock.advance(runAfterMs);
          await connector.runCredentials();
          throw new PeerFailure("delivery service", "order", "unanswered");
        },
      })),
    });
    return connector;
  };

  test("waits for three days, also if the job has written the request during the call", async () => {
    const connector = await unansweredDuringRun(minutes(6));
    expect(await refusalOf(connector.order(withoutPins(orderBody())))).toMatchObject({ status: 500 });
    const [{ requestId } = { requestId: "" }] = await connector.queue("reconcile");
    const { delivery, due, ...row } = await connector.requestRow(requestId);
    expect(row).toMatchObject({ state: "received", errorMessage: expect.stringContaining("has not confirmed") });
    expect(due?.at).toBe(plus(delivery?.sentAt ?? "", minutes(15)));
    expect(connector.events("reconcile_not_scheduled")).toEqual([]);
    connector.advance(minutes(9));
    expect(await runFor(connector, requestId, hours(10))).toMatchObject(stillOpen);
  });

  test("waits for three days after the job has rejected the shipment that it linked during the call", async () => {
    const connector = await unansweredDuringRun(minutes(16));
    const body = withoutPins(orderBody());
    const referenced = altered(body, { "shipment.customer_reference": body.recipient.email });
    const others = await testConnector(peers);
    const other = await others.order(referenced);
    expect(await refusalOf(connector.order(referenced))).toMatchObject({ status: 500 });
    const [{ requestId } = { requestId: "" }] = await connector.queue("poll");
    expect(await connector.requestRow(requestId)).toMatchObject({
      state: "started",
      delivery: { isUnanswered: true, shipment: { tentative: true, id: other.shipmentId } },
    });
    await connector.runShipments();
    expect(await connector.requestRow(requestId)).toMatchObject({
      ...stillOpen,
      delivery: { isUnanswered: true, rejectedShipmentIds: [other.shipmentId] },
    });
  });

  test("leaves a request that the job has ended during the call as it is", async () => {
    const connector = await unansweredDuringRun(days(4));
    expect(await refusalOf(connector.order(withoutPins(orderBody())))).toMatchObject({ status: 500 });
    const [{ requestId } = { requestId: "" }] = await connector.queue("clean");
    const row = await connector.requestRow(requestId);
    expect(row).toMatchObject({ state: "failed", errorMessage: expect.stringContaining("never confirmed") });
    expect(row.delivery?.isUnanswered).toBeUndefined();
  });
});
