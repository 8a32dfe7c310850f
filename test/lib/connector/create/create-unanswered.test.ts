import { describe, expect, test } from "vitest";
import type { Challenge } from "../../../../lib/connector/model/webauthn.ts";
import { days, hours, minutes, seconds } from "../../../../lib/platform/time.ts";
import type { FaultRule } from "../../../../local/peers/peer.ts";
import { withPort } from "../../../support/connector/changed-peers.ts";
import { failingTable } from "../../../support/connector/crashing.ts";
import { authenticator, onSiteBody } from "../../../support/connector/on-site.ts";
import {
  onChallenge,
  orderBody,
  peersOfFile,
  recordCompensated,
  refusalOf,
  type TestConnector,
  testConnector,
} from "../../../support/connector/test-connector.ts";

const peers = await peersOfFile();
const ordered = () => peers.delivery.count("POST", /shipments$/);
const lookUps = () => peers.delivery.count("GET", /shipments$/);

const unconfirmed =
  "The delivery service has not confirmed the shipment; it is being looked up for 3 days. " +
  "Before you order again, search there for the customer reference.";

/** Orders, gets the refusal with an unknown outcome, and returns the id in it. */
async function unanswered(connector: TestConnector, body = orderBody()): Promise<string> {
  const response = await refusalOf(connector.order(body));
  expect(response).toEqual({
    status: 500,
    headers: {},
    body: {
      error_code: "api_error",
      error_message: expect.stringContaining("not known whether the shipment was ordered"),
      error_data: { error_type: "internal", credential_request_id: expect.any(String) },
    },
  });
  return (response.body as { error_data: { credential_request_id: string } }).error_data.credential_request_id;
}

describe("a create whose delivery call is not answered", () => {
  // jobs/failures/create.test.ts has the time-outs, lost connections, errors and unreadable answers.
  test.each<[string, FaultRule]>([
    ["answers without an id", { kind: "nonsense", status: 201, body: { shipment: "?" } }],
    ["answers 400 in the form of a gateway", { kind: "nonsense", status: 400 }],
    ["answers 409 in the form of a gateway", { kind: "refuse", status: 409 }],
    ["answers 405 in the form of a gateway", { kind: "refuse", status: 405 }],
    ["answers 422 in the form of a gateway", { kind: "refuse", status: 422 }],
  ])("because it %s: 500 that names the request, which stays received and is ordered once", async (_, fault) => {
    const connector = await testConnector(peers);
    peers.delivery.fail({ ...fault, method: "POST" });
    const requestId = await unanswered(connector);
    connector.advance(minutes(16));
    await connector.runCredentials();
    expect(await connector.read(requestId)).toMatchObject({ state: "received", error_message: unconfirmed });
    expect(ordered()).toBe(1);
  });

  test("because it redirects: the request and the log name the setting, and it may be ordered", async () => {
    const connector = await testConnector(peers);
    peers.delivery.fail({ kind: "refuse", status: 307, method: "POST" });
    const requestId = await unanswered(connector);
    const redirect = expect.stringMatching(/redirects to another address, .* correct the address in the settings\.$/);
    expect(connector.events("delivery_unanswered")).toMatchObject([{ redirect }]);
    connector.advance(minutes(16));
    await connector.runCredentials();
    const { state, error_message } = await connector.read(requestId);
    expect(state).toBe("received");
    expect(error_message).toMatch(/customer reference\. DELIVERY_API_BASE_URL: http.* redirects to another address/);
    expect(ordered()).toBe(1);
  });

  test("because it fails with a time to come back: a 5xx never says that the order was not taken", async () => {
    const away = new Response("{}", { status: 503, headers: { "retry-after": "5" } });
    const isOrder = (url: unknown, init?: RequestInit) => init?.method === "POST" && /shipments$/.test(String(url));
    const connector = await testConnector(peers, {
      fetch: async (url, init) => (isOrder(url, init) ? away : fetch(url, init)),
    });
    const requestId = await unanswered(connector);
    expect(await connector.read(requestId)).toMatchObject({ state: "received", error_message: unconfirmed });
  });

  test("because it answers with the id of another request's shipment, which stays with that one", async () => {
    const connector = await testConnector(peers);
    const other = await connector.order();
    peers.delivery.fail({ kind: "nonsense", method: "POST", body: { shipment_id: other.shipmentId } });
    const requestId = await unanswered(connector);
    expect(await connector.read(requestId)).toMatchObject({ state: "received", error_message: unconfirmed });
    connector.advance(minutes(16));
    await connector.runCredentials();
    expect(await connector.read(requestId)).toMatchObject({ state: "received" });
    expect(await connector.context.requests.requestOfShipment(other.shipmentId ?? "")).toBe(other.requestId);
  });

  test("because its host dies in the call: a read says that it is being ordered, and from the first look-up that it is looked up", async () => {
    const dying = withPort("delivery", () => ({ createShipment: () => new Promise<never>(() => {}) }));
    const connector = await testConnector(peers, { ports: dying });
    void connector.order();
    const received = async () => (await connector.queue("reconcile"))[0]?.requestId ?? "";
    await expect.poll(async () => (await connector.load(await received()))?.request.delivery).toBeDefined();
    const requestId = await received();
    const error_message =
      "The shipment is being ordered. Without an answer of the delivery service it is looked up for 3 days.";
    expect(await connector.read(requestId)).toMatchObject({ state: "received", error_message });
    connector.advance(minutes(16));
    await connector.runCredentials();
    expect(await connector.read(requestId)).toMatchObject({ state: "received", error_message: unconfirmed });
  });

  test("compensates nothing", async () => {
    const compensated: Challenge["idpState"][] = [];
    const connector = await testConnector(peers, { ports: recordCompensated(compensated) });
    peers.delivery.fail({ kind: "drop", method: "POST" });
    await unanswered(connector);
    connector.advance(hours(80));
    await connector.runCredentials();
    expect((await connector.queue("clean")).length).toBe(1);
    expect(compensated).toEqual([]);
  });

  test("also where storage fails once the order was taken: the job finds the shipment", async () => {
    const connector = await testConnector(peers, {
      tables: failingTable("fprshipments", "insert"),
    });
    const requestId = await unanswered(connector);
    const error = { message: "storage is away" };
    const event = { credentialRequestId: requestId, error };
    expect(connector.events("start_failed")).toMatchObject([{ ...event, shipmentId: expect.any(String) }]);
    expect(connector.events("delivery_unanswered")).toMatchObject([event]);
    expect(await connector.read(requestId)).toMatchObject({ state: "received", error_message: unconfirmed });
    const healthy = connector.anotherInstance({ tables: tables => tables });
    healthy.advance(minutes(16));
    await healthy.runCredentials();
    expect(await healthy.read(requestId)).toMatchObject({ state: "started" });
    expect(ordered()).toBe(1);
  });
});

describe("a create and time", () => {
  test("orders only within 10 s of sending the order intent, and withdraws the intent later", async () => {
    const late = (ms: number) =>
      testConnector(peers, {
        ports: ({ delivery }, clock) => ({
          delivery: {
            ...delivery,
            createShipment: (order, limits) => {
              clock.advance(ms);
              return delivery.createShipment(order, limits);
            },
          },
        }),
      });
    const inTime = await late(seconds(10));
    const { requestId } = await inTime.order();
    expect(await inTime.read(requestId)).toMatchObject({ state: "started" });
    expect(ordered()).toBe(1);

    const tooLate = await late(seconds(10) + 1);
    expect(await refusalOf(tooLate.order())).toMatchObject({ status: 503, headers: { "retry-after": "30" } });
    const [ended] = await tooLate.queue("clean");
    expect(await tooLate.read(ended?.requestId ?? "")).toMatchObject({ state: "failed" });
    expect((await tooLate.requestRow(ended?.requestId ?? "")).delivery).toBeUndefined();
    expect(ordered()).toBe(1);
  });

  test("counts the 10 s from before the order intent was sent, however long storage takes to answer", async () => {
    const connector = await testConnector(peers, {
      ports: ({ requests }, clock) => ({
        requests: {
          ...requests,
          save: async (loaded, changes) => {
            const saved = await requests.save(loaded, changes);
            if (changes.request?.state === "received") clock.advance(seconds(11));
            return saved;
          },
        },
      }),
    });
    expect(await refusalOf(connector.order())).toMatchObject({ status: 503 });
    expect(ordered()).toBe(0);
  });

  test("ends at its next write after 150 s, and orders nothing", async () => {
    const slowBy = (ms: number) => testConnector(peers, { ports: onChallenge((_, clock) => void clock.advance(ms)) });
    const inTime = await slowBy(seconds(150));
    const { requestId: started } = await inTime.order();
    expect(await inTime.read(started)).toMatchObject({ state: "started" });

    const tooLate = await slowBy(seconds(150) + 1);
    expect(await refusalOf(tooLate.order())).toMatchObject({ status: 503, headers: { "retry-after": "30" } });
    const [{ requestId } = { requestId: "" }] = await tooLate.queue("clean");
    const reason = "The request took too long; nothing was ordered.";
    expect(await tooLate.read(requestId)).toMatchObject({ state: "failed", error_message: reason });
    expect(ordered()).toBe(1);
  });

  test.each([
    ["a shipment", () => orderBody([2])],
    ["an authenticator", () => onSiteBody([authenticator(2)])],
  ])("compensates after 150 s what it started for %s, because no row leads the job to it", async (_, body) => {
    const started: unknown[] = [];
    const compensated: Challenge["idpState"][] = [];
    const ports = onChallenge(({ idpState }, clock) => {
      clock.advance(seconds(76));
      started.push(idpState);
    }, compensated);
    const connector = await testConnector(peers, { ports });
    expect(await refusalOf(connector.order(body()))).toMatchObject({ status: 503 });
    expect(started).toHaveLength(2);
    expect(compensated).toEqual(expect.arrayContaining(started));
    expect(ordered()).toBe(0);
  });

  test("that stopped before its order intent is compensated after 5 minutes and ends failed, never sent", async () => {
    const compensated: Challenge["idpState"][] = [];
    const connector = await testConnector(peers, {
      ports: context => ({
        requests: { ...context.requests, save: () => Promise.reject(new Error("killed")) },
      }),
    });
    await expect(connector.order(orderBody([1, 2]))).rejects.toThrow("killed");
    const host = connector.anotherInstance({ ports: recordCompensated(compensated) });
    const [{ requestId } = { requestId: "" }] = await host.queue("reconcile");
    expect(await host.read(requestId)).toMatchObject({ state: "received" });
    host.advance(minutes(5) - 1);
    await host.runCredentials("on_demand");
    expect(await host.read(requestId)).toMatchObject({ state: "received" });
    host.advance(1);
    await host.runCredentials("timer");
    const read = await host.read(requestId);
    expect(read).toMatchObject({ state: "failed", error_message: expect.stringContaining("never sent") });
    expect(read.shipment?.shipment_items.map(({ state }) => state)).toEqual(["failed", "failed"]);
    expect(ordered()).toBe(0);
    expect(lookUps()).toBe(0);
  });
});

describe("a create handler that returns late with an id", () => {
  test("of a request that has ended leaves it, and names the shipment in an error event", async () => {
    const connector: TestConnector = await testConnector(peers, {
      ports: ({ delivery }, clock) => ({
        delivery: {
          ...delivery,
          createShipment: async order => {
            clock.advance(days(4));
            await connector.runCredentials();
            return delivery.createShipment(order);
          },
        },
      }),
    });
    const { requestId, shipmentId } = await connector.order();
    expect(await connector.read(requestId)).toMatchObject({ state: "failed" });
    expect(connector.events("shipment_after_end")).toMatchObject([{ credentialRequestId: requestId, shipmentId }]);
  });

  test("still writes it, over what the job has linked meanwhile", async () => {
    const connector: TestConnector = await testConnector(peers, {
      ports: ({ delivery }, clock) => ({
        delivery: {
          ...delivery,
          createShipment: async order => {
            const created = await delivery.createShipment(order);
            clock.advance(minutes(16));
            await connector.runCredentials();
            const [{ requestId } = { requestId: "" }] = await connector.queue("poll");
            expect((await connector.requestRow(requestId)).delivery).toMatchObject({ shipment: { tentative: true } });
            return created;
          },
        },
      }),
    });
    const { requestId, shipmentId = "" } = await connector.order();
    const row = await connector.requestRow(requestId);
    expect(row).toMatchObject({ state: "started", delivery: { shipment: { id: shipmentId } } });
    expect(row.delivery?.shipment?.tentative).toBeUndefined();
    expect(await connector.queue("reconcile")).toEqual([]);
    await connector.runJobs();
    expect(await connector.read(requestId)).toMatchObject({ state: "complete" });
  });

  test("unlinks another request's shipment that the job has linked meanwhile", async () => {
    const others = await testConnector(peers);
    const body = orderBody();
    const reference = { ...body, shipment: { ...body.shipment, customer_reference: body.recipient.email } };
    const other = await others.order(reference);
    const connector: TestConnector = await testConnector(peers, {
      ports: ({ delivery }, clock) => ({
        delivery: {
          ...delivery,
          createShipment: async order => {
            clock.advance(minutes(16));
            await connector.runCredentials();
            return delivery.createShipment(order);
          },
        },
      }),
    });
    const { requestId, shipmentId } = await connector.order(reference);
    expect(shipmentId).not.toBe(other.shipmentId);
    expect(await connector.requestRow(requestId)).toMatchObject({
      state: "started",
      delivery: { shipment: { id: shipmentId }, rejectedShipmentIds: [other.shipmentId] },
    });
    expect(await connector.context.requests.requestOfShipment(shipmentId ?? "")).toBe(requestId);
    expect(await connector.context.requests.requestOfShipment(other.shipmentId ?? "")).toBeUndefined();
  });
});
