import { describe, expect, test } from "vitest";
import { createShipmentBodyV1 } from "../../../../lib/connector/api/v1/shipment-body.ts";
import { createRequest } from "../../../../lib/connector/create/create-request.ts";
import { Fault } from "../../../../lib/platform/fault.ts";
import { between, days, hours, minutes, seconds } from "../../../../lib/platform/time.ts";
import {
  type ConnectorOptions,
  idpsOf,
  newUser,
  orderBody,
  peersOfFile,
  type TestConnector,
  testConnector,
} from "../../../support/connector/test-connector.ts";
import { deadAddress } from "../../../support/dead-address.ts";
import { shipmentBodyV1 } from "../api/v1/shipment-body.ts";
import { altered, type Body } from "../api/v2/bodies.ts";

const peers = await peersOfFile();
const polls = () => peers.delivery.count("GET", /shipments\/./);

interface Ordered {
  readonly connector: TestConnector;
  readonly requestId: string;
  readonly shipmentId: string;
  readonly users: readonly string[];
}

async function ordered(
  { state, body = orderBody(), on }: { state?: number; body?: Body; on?: TestConnector } = {},
  options: ConnectorOptions = {},
): Promise<Ordered> {
  const connector = on ?? (await testConnector(peers, options));
  const { requestId, shipmentId = "" } = await connector.order(body);
  if (state !== undefined) await peers.delivery.control(shipmentId, { state });
  const users = body.shipment.shipment_items.flatMap((item: Body) => item.credentials.map((one: Body) => one.user_id));
  return { connector, requestId, shipmentId, users };
}

const credentialOf = async ({ connector, requestId }: Ordered, item = 0, credential = 0) =>
  (await connector.read(requestId)).shipment?.shipment_items[item]?.credentials[credential];

const registered = (users: readonly string[]) =>
  peers.entra.registrations().filter(({ userId }) => users.includes(userId));

/** An answer of the delivery service's shipment, changed on its way. */
const answering = (change: (shipment: Body) => Body): ConnectorOptions => ({
  fetch: async (url, init) => {
    const answer = await fetch(url, init);
    if (init?.method !== "GET" || !/shipments\/[^/]+$/.test(String(url)) || !answer.ok) return answer;
    return Response.json(change(await answer.json()));
  },
});

describe("a shipment in state", () => {
  test.each([
    [103, "Shipped"],
    [104, "Delivered"],
    [105, "Shipment Lost/Missing"],
    [106, "Delivery Exception"],
  ])("%i, %s, gives its responses: credentials are activation_pending", async (state, message) => {
    const one = await ordered({ state });
    const report = { answered: 1, missing: 0, failed: 0, activated: 0, tracked: 0, left: 0 };
    expect(await one.connector.runShipments()).toEqual(report);
    const credential = await credentialOf(one);
    expect(credential).toMatchObject({ state: "activation_pending", retryable_until: expect.any(String) });
    const key = await one.connector.keyRow(one.requestId);
    expect(key).toMatchObject({
      serial: expect.stringMatching(/^\d+$/),
      firmware: "5.7.4",
      responses: expect.any(String),
    });
    const { error_message } = await one.connector.read(one.requestId);
    expect(error_message).toBe(state > 104 ? `The delivery service reports: ${message}` : undefined);
    expect(registered(one.users)).toEqual([]);
    expect(await one.connector.queue("poll")).toEqual([]);
    await one.connector.runCredentials();
    expect(await one.connector.read(one.requestId)).toMatchObject({ state: "complete" });
  });

  test.each([105, 106])("%i without responses is shown and polled again", async state => {
    const one = await ordered(
      { state },
      answering(shipment => ({ ...shipment, shipment_items: [] })),
    );
    await one.connector.runShipments();
    expect(await credentialOf(one)).toMatchObject({ state: "processing" });
    expect(await one.connector.read(one.requestId)).toMatchObject({
      error_message: expect.stringContaining("The delivery service reports"),
    });
    expect(await one.connector.queue("poll")).toHaveLength(1);
  });

  test.each([
    [8, "Error: Processing Error, contact Support"],
    [9, "Error: DPL Match"],
    [99, "Error: Shipping error, contact Support"],
    [1, "Incomplete Shipping Request"],
    [6, "Incomplete"],
    [7, "Address is undeliverable or could not be understood"],
  ])("%i is shown as %s and polled again", async (state, message) => {
    const one = await ordered({ state });
    await one.connector.runShipments();
    expect(await one.connector.read(one.requestId)).toMatchObject({
      state: "started",
      error_message: `The delivery service reports: ${message}`,
    });
    expect(await credentialOf(one)).toMatchObject({ state: "processing" });
    expect(await one.connector.queue("poll")).toHaveLength(1);
    await peers.delivery.control(one.shipmentId, { ship: true });
    await one.connector.runShipments();
    expect(await credentialOf(one)).toMatchObject({ state: "activation_pending" });
    expect((await one.connector.read(one.requestId)).error_message).toBeUndefined();
  });

  test.each([101, 102])("%i is in progress: the request stays open without an error", async state => {
    const one = await ordered({ state });
    await one.connector.runShipments();
    const read = await one.connector.read(one.requestId);
    expect(read.state).toBe("started");
    expect(read.error_message).toBeUndefined();
    expect(await credentialOf(one)).toMatchObject({ state: "processing" });
  });

  test.each([
    [42, "Something new"],
    [107, "Returned to sender"],
    [1000, undefined],
  ])("%i, which is unknown, is open and its message shown, its responses left alone", async (id, message) => {
    const one = await ordered(
      {},
      answering(shipment => ({
        ...shipment,
        shipment_state: { shipment_state_id: id, ...(message && { shipment_state_message: message }) },
      })),
    );
    await one.connector.runShipments();
    expect(await one.connector.read(one.requestId)).toMatchObject({
      state: "started",
      error_message: `The delivery service reports: ${message ?? "state 1000"}`,
    });
    expect(await credentialOf(one)).toMatchObject({ state: "processing" });
    expect(await one.connector.queue("poll")).toHaveLength(1);
  });
});

describe("polling", () => {
  test("begins 1 hour after the order and backs off to 6 hours", async () => {
    const { connector, requestId } = await ordered({ state: 101 });
    const waits: number[] = [];
    for (let poll = 0; poll < 6; poll++) {
      const { due } = await connector.requestRow(requestId);
      waits.push(between(connector.now(), due?.at ?? ""));
      connector.advance((waits.at(-1) ?? 0) - 1);
      expect(await connector.runShipments("timer")).toMatchObject({ answered: 0 });
      connector.advance(1);
      expect(await connector.runShipments("timer")).toMatchObject({ answered: 1 });
    }
    expect(waits.map(wait => wait / hours(1))).toEqual([1, 1, 2, 4, 6, 6]);
    expect(polls()).toBe(6);
  });

  // jobs/failures/shipments.test.ts has the other failures.
  test("goes on where the service is overloaded, which is shown", async () => {
    const one = await ordered();
    peers.delivery.fail({ kind: "refuse", status: 503, path: "shipments/", times: 3 });
    expect(await one.connector.runShipments()).toMatchObject({ failed: 1 });
    const event = { credentialRequestId: one.requestId, error: { name: "PeerFailure" } };
    expect(one.connector.events("poll_failed")).toMatchObject([event]);
    expect(await one.connector.read(one.requestId)).toMatchObject({
      state: "started",
      error_message: expect.stringContaining("The shipment could not be read"),
    });
    peers.delivery.clearFaults();
    one.connector.advance(hours(1));
    await one.connector.runShipments("timer");
    expect(await credentialOf(one)).toMatchObject({ state: "activation_pending" });
    expect((await one.connector.read(one.requestId)).error_message).toBeUndefined();
  });

  test.each([90, 7200])("waits for a Retry-After of %i seconds, on demand too, and no longer", async retryAfter => {
    const one = await ordered();
    peers.delivery.fail({ kind: "throttle", path: "shipments/", retryAfter });
    await one.connector.runShipments();
    one.connector.advance(seconds(retryAfter - 1));
    expect(await one.connector.runShipments("on_demand")).toMatchObject({ answered: 0 });
    one.connector.advance(seconds(1));
    expect(await one.connector.runShipments("on_demand")).toMatchObject({ answered: 1 });
  });

  test("of the others goes on in the same timer run when the Retry-After of the service is over", async () => {
    const slept: number[] = [];
    const connector = await testConnector(peers, {
      limits: { callsAtOnce: 1 },
      ports: (_, clock) => ({
        sleep: async ms => {
          slept.push(ms);
          clock.advance(ms);
        },
      }),
    });
    for (let n = 0; n < 3; n++) await connector.order();
    connector.advance(hours(1));
    peers.delivery.fail({ kind: "throttle", path: "shipments/", retryAfter: 60 });
    expect(await connector.runShipments("timer")).toMatchObject({ answered: 3, failed: 1, left: 0 });
    expect(slept).toEqual([seconds(60)]);
  });

  test("takes what is ready and continues for the rest", async () => {
    let ready = 1;
    const one = await ordered(
      { body: orderBody([1, 2]) },
      answering(shipment => ({
        ...shipment,
        shipment_items: shipment.shipment_items.map((item: Body, index: number) =>
          index < ready ? item : { ...item, product_data: [] },
        ),
      })),
    );
    await one.connector.runShipments();
    expect(await credentialOf(one, 0)).toMatchObject({ state: "activation_pending" });
    expect(await credentialOf(one, 1)).toMatchObject({ state: "processing" });
    await one.connector.runCredentials();
    expect(await one.connector.read(one.requestId)).toMatchObject({ state: "started" });
    ready = 2;
    one.connector.advance(hours(1));
    await one.connector.runShipments("timer");
    await one.connector.runCredentials();
    expect(await one.connector.read(one.requestId)).toMatchObject({ state: "complete" });
    expect(registered(one.users)).toHaveLength(3);
  });

  test("takes a key's responses one by one", async () => {
    let ready = 1;
    const one = await ordered(
      { body: orderBody([3]) },
      answering(shipment => ({
        ...shipment,
        shipment_items: shipment.shipment_items.map((item: Body) => ({
          ...item,
          product_data: item.product_data.map((key: Body) => ({
            ...key,
            fido_credential_responses: key.fido_credential_responses.slice(0, ready),
          })),
        })),
      })),
    );
    await one.connector.runShipments();
    await one.connector.runCredentials();
    expect((await one.connector.keyRow(one.requestId)).credentials.map(({ state }) => state)).toEqual([
      "active",
      "processing",
      "processing",
    ]);
    ready = 3;
    await one.connector.runShipments();
    await one.connector.runCredentials();
    expect(await one.connector.read(one.requestId)).toMatchObject({ state: "complete" });
    expect(registered(one.users)).toHaveLength(3);
    expect(peers.mail.mails().filter(({ text }) => text?.includes(one.users[0] ?? ""))).toHaveLength(1);
  });

  test("keeps earlier responses if the service sends the rest later without them", async () => {
    let shown: readonly [from: number, to: number] = [0, 1];
    const one = await ordered(
      { body: orderBody([2]) },
      answering(shipment => ({
        ...shipment,
        shipment_items: shipment.shipment_items.map((item: Body) => ({
          ...item,
          product_data: item.product_data.map(({ fido_pin_response: pin, ...key }: Body) => ({
            ...key,
            ...(shown[0] === 0 && { fido_pin_response: pin }),
            fido_credential_responses: key.fido_credential_responses.map((response: string, index: number) =>
              index >= shown[0] && index < shown[1] ? response : "",
            ),
          })),
        })),
      })),
    );
    const { connector, requestId, users } = one;
    await connector.runShipments();
    shown = [1, 2];
    await connector.runJobs();
    expect(await connector.read(requestId)).toMatchObject({ state: "complete" });
    expect(registered(users)).toHaveLength(2);
    expect(peers.mail.mails().filter(({ text }) => text?.includes(users[0] ?? ""))).toHaveLength(1);
  });

  test("keeps the earlier PIN response if the service sends another text in its place with the rest", async () => {
    let later = false;
    const one = await ordered(
      { body: orderBody([2]) },
      answering(shipment => ({
        ...shipment,
        shipment_items: shipment.shipment_items.map((item: Body) => ({
          ...item,
          product_data: item.product_data.map((key: Body) => ({
            ...key,
            ...(later && { fido_pin_response: "purged" }),
            fido_credential_responses: key.fido_credential_responses.slice(0, later ? 2 : 1),
          })),
        })),
      })),
    );
    const { connector, requestId, users } = one;
    await connector.runShipments();
    later = true;
    await connector.runJobs();
    expect(await connector.read(requestId)).toMatchObject({ state: "complete" });
    expect(peers.mail.mails().filter(({ text }) => text?.includes(users[0] ?? ""))).toHaveLength(1);
  });

  test("keeps a later PIN response if the earlier one does not open", async () => {
    let later = false;
    let purged = false;
    const one = await ordered(
      { body: orderBody([2]) },
      answering(shipment => ({
        ...shipment,
        shipment_items: shipment.shipment_items.map((item: Body) => ({
          ...item,
          product_data: item.product_data.map((key: Body) => ({
            ...key,
            ...((!later || purged) && { fido_pin_response: "not ready" }),
            fido_credential_responses: key.fido_credential_responses.slice(0, later ? 2 : 1),
          })),
        })),
      })),
    );
    const { connector, users } = one;
    await connector.runShipments();
    later = true;
    await connector.runShipments();
    purged = true;
    await connector.runCredentials();
    expect(peers.mail.mails().filter(({ text }) => text?.includes(users[0] ?? ""))).toHaveLength(1);
  });

  test("takes the keys that are programmed if the service sends null in the place of one that is not", async () => {
    const one = await ordered(
      { body: altered(orderBody([1, 1]), {}) },
      answering(shipment => ({
        ...shipment,
        shipment_items: shipment.shipment_items.map((item: Body, index: number) =>
          index === 0 ? item : { ...item, product_data: [null] },
        ),
      })),
    );
    const versions = async () => (await one.connector.load(one.requestId)).keys.map(({ version }) => version);
    const before = await versions();
    await one.connector.runShipments();
    expect((await credentialOf(one))?.state).toBe("activation_pending");
    expect((await credentialOf(one, 1))?.state).toBe("processing");
    // Only the row of the security key with news is written.
    expect((await versions()).map((etag, index) => etag === before[index])).toEqual([false, true]);
  });

  test("loses no response to an earlier poll whose host was suspended until another one had polled and saved", async () => {
    const suspended = Promise.withResolvers<void>();
    const resumed = Promise.withResolvers<void>();
    const body = orderBody([2]);
    const one = await ordered({ body });
    const { connector, requestId } = one;
    const partly = answering(shipment => ({
      ...shipment,
      shipment_items: shipment.shipment_items.map((item: Body) => ({
        ...item,
        product_data: item.product_data.map(({ fido_pin_response: _, ...key }: Body) => ({
          ...key,
          fido_credential_responses: key.fido_credential_responses.slice(0, 1),
        })),
      })),
    }));
    const early = connector.anotherInstance({
      ...partly,
      ports: ({ delivery }) => ({
        delivery: {
          ...delivery,
          getShipment: async id => {
            const shipment = await delivery.getShipment(id);
            suspended.resolve();
            await resumed.promise;
            return shipment;
          },
        },
      }),
    });
    const earlyRun = early.runShipments();
    await suspended.promise;
    connector.advance(minutes(3));
    await connector.runShipments();
    resumed.resolve();
    await earlyRun;
    expect(early.events("poll_conflict")).toMatchObject([{ credentialRequestId: requestId }]);
    await peers.delivery.control(one.shipmentId, { purge: true });
    await connector.runCredentials();
    expect(await connector.read(requestId)).toMatchObject({ state: "complete" });
    expect(peers.mail.mails().filter(({ text }) => text?.includes(one.users[0] ?? ""))).toHaveLength(1);
  });
});

test("an error of a poll is reported also if storage becomes unavailable at the same time", async () => {
  const one = await ordered({ state: 103 });
  one.connector.advance(hours(1));
  let hasFailed = false;
  const host = one.connector.anotherInstance({
    ports: ({ sealer, requests }) => ({
      sealer: {
        ...sealer,
        open: async () => {
          hasFailed = true;
          throw new RangeError("a bug");
        },
      },
      requests: {
        ...requests,
        load: async (...given) => {
          if (hasFailed) throw new Fault("unavailable", "no storage");
          return requests.load(...given);
        },
      },
    }),
  });
  await host.runShipments().catch(() => undefined);
  expect(host.events("responses_not_removed")).toMatchObject([{ credentialRequestId: one.requestId }]);
  expect(host.events("work_failed")).toMatchObject([{ error: { message: "a bug" } }]);
});

describe("a shipment that the service does not know", () => {
  const missing = async (options: Parameters<typeof ordered>[0] = {}) => {
    const gone = await ordered(options);
    // Others prove that it is not the service that has lost its memory.
    const other = await ordered({ state: 101, on: gone.connector });
    await peers.delivery.control(gone.shipmentId, { delete: true });
    return { gone, other, connector: gone.connector };
  };

  test("on 3 polls over at least 24 hours counts as cancelled", async () => {
    const { gone, connector } = await missing({ body: orderBody([1, 2]) });
    await connector.runShipments();
    connector.advance(hours(12));
    await connector.runShipments();
    connector.advance(hours(12) - 1);
    await connector.runShipments();
    expect(await connector.read(gone.requestId)).toMatchObject({
      state: "started",
      error_message: "The delivery service does not know the shipment.",
    });
    connector.advance(hours(7));
    await connector.runShipments("timer");
    const read = await connector.read(gone.requestId);
    expect(read).toMatchObject({
      state: "cancelled",
      error_message: expect.stringContaining("deleted at the delivery service"),
    });
    for (const item of read.shipment?.shipment_items ?? []) {
      expect(item.state).toBe("cancelled");
      for (const credential of item.credentials)
        expect(credential).toMatchObject({ state: "cancelled", error_message: expect.stringContaining("deleted") });
    }
    expect((await connector.queue("poll")).map(({ requestId }) => requestId)).not.toContain(gone.requestId);
  });

  test("and that two runs poll at the same time is counted once, and cancelled by one of them", async () => {
    const { gone, other, connector } = await missing();
    await ordered({ state: 101, on: connector });
    await connector.runShipments();
    connector.advance(hours(24));
    const released = Promise.withResolvers<void>();
    const late = connector.anotherInstance({
      ports: ({ requests, delivery }) => ({
        requests: {
          ...requests,
          save: async (loaded, changes, options) => {
            const saved = await requests.save(loaded, changes, options);
            if (changes.request?.id === gone.requestId && changes.request.lease === undefined) released.resolve();
            return saved;
          },
        },
        delivery: {
          ...delivery,
          getShipment: async id => {
            if (id === other.shipmentId) {
              await released.promise;
              await connector.runShipments();
            }
            return delivery.getShipment(id);
          },
        },
      }),
    });
    await late.runShipments();
    expect((await connector.requestRow(gone.requestId)).delivery?.missing?.count).toBe(2);
    await late.runShipments();
    expect(await connector.requestRow(gone.requestId)).toMatchObject({
      state: "cancelled",
      delivery: { missing: { count: 3 } },
      due: { queue: "clean" },
    });
    expect(connector.events("shipment_cancelled").length + late.events("shipment_cancelled").length).toBe(1);
  });

  test("on 3 polls is not cancelled by a run while another one polls it, because that may get its responses", async () => {
    const gone = await ordered();
    const other = await ordered({ state: 101, on: gone.connector });
    const { connector, requestId, shipmentId } = gone;
    const found = await connector.context.delivery.getShipment(shipmentId);
    await peers.delivery.control(shipmentId, { delete: true });
    for (const _ of [1, 2]) {
      await connector.runShipments();
      connector.advance(hours(12));
    }
    const released = Promise.withResolvers<void>();
    const hasAsked = Promise.withResolvers<void>();
    const answer = Promise.withResolvers<void>();
    const second = connector.anotherInstance({
      ports: ({ delivery }) => ({
        delivery: {
          ...delivery,
          getShipment: async id => {
            if (id !== shipmentId) return delivery.getShipment(id);
            hasAsked.resolve();
            await answer.promise;
            return found;
          },
        },
      }),
    });
    let secondRun: Promise<unknown> | undefined;
    const first = connector.anotherInstance({
      ports: ({ requests, delivery }) => ({
        requests: {
          ...requests,
          save: async (loaded, changes, options) => {
            const saved = await requests.save(loaded, changes, options);
            if (changes.request?.id === requestId && changes.request.lease === undefined) released.resolve();
            return saved;
          },
        },
        delivery: {
          ...delivery,
          getShipment: async id => {
            if (id === other.shipmentId) {
              await released.promise;
              secondRun = second.runShipments();
              await hasAsked.promise;
            }
            return delivery.getShipment(id);
          },
        },
      }),
    });
    await first.runShipments();
    answer.resolve();
    await secondRun;
    expect(first.events("shipment_cancelled")).toEqual([]);
    expect(await connector.read(requestId)).toMatchObject({
      state: "started",
      shipment: { shipment_items: [{ credentials: [{ state: "activation_pending" }] }] },
    });
  });

  test("on 2 polls does not, however long it is", async () => {
    const { gone, connector } = await missing();
    await connector.runShipments();
    connector.advance(days(2));
    await connector.runShipments();
    expect(await connector.read(gone.requestId)).toMatchObject({ state: "started" });
    connector.advance(hours(7));
    await connector.runShipments("timer");
    expect(await connector.read(gone.requestId)).toMatchObject({ state: "cancelled" });
  });

  test("is counted anew when it was known in between", async () => {
    const one = await ordered({ state: 101 });
    await ordered({ state: 101, on: one.connector });
    const unknown = {
      kind: "refuse",
      path: one.shipmentId,
      status: 404,
      body: { code: "not_found", message: "?" },
    } as const;
    for (const fault of [unknown, unknown, undefined, unknown, unknown]) {
      if (fault !== undefined) peers.delivery.fail(fault);
      await one.connector.runShipments();
      one.connector.advance(hours(12));
    }
    expect(await one.connector.read(one.requestId)).toMatchObject({ state: "started" });
    expect((await one.connector.requestRow(one.requestId)).delivery?.missing?.count).toBe(2);
  });

  test("keeps what had come before: an active credential makes it partial", async () => {
    const gone = await ordered(
      { body: orderBody([1, 1]) },
      answering(shipment => ({ ...shipment, shipment_items: shipment.shipment_items.slice(0, 1) })),
    );
    await ordered({ state: 101, on: gone.connector });
    const { connector } = gone;
    await connector.runJobs();
    await peers.delivery.control(gone.shipmentId, { delete: true });
    for (const _ of [1, 2, 3]) {
      await connector.runShipments();
      connector.advance(hours(12));
    }
    const read = await connector.read(gone.requestId);
    expect(read.state).toBe("partial");
    expect(read.shipment?.shipment_items.map(({ state }) => state)).toEqual(["complete", "cancelled"]);
    expect((await connector.queue("purge")).map(({ keyId }) => keyId)).toEqual(["s-01-001"]);
  });

  /** A deleted shipment that is alone in its runs, and complete ones, the first of which was ordered `ageMs` before it. */
  const missingAlone = async (count: number, ageMs = minutes(count)) => {
    const others: Ordered[] = [];
    const connector = await testConnector(peers);
    connector.advance(-ageMs);
    for (let n = 0; n < count; n++) {
      others.push(await ordered({ state: 104, on: connector }));
      connector.advance(ageMs / count);
    }
    await connector.runJobs();
    const gone = await ordered({ on: connector });
    await peers.delivery.control(gone.shipmentId, { delete: true });
    peers.delivery.resetRequests();
    return { gone, others, connector };
  };
  const pollThreeTimes = async (connector: TestConnector) => {
    for (const _ of [1, 2, 3]) {
      connector.advance(hours(12));
      await connector.runShipments("timer");
    }
  };

  test("and that is alone in its runs counts as cancelled, because the service answers for one that it has known", async () => {
    const { gone, others, connector } = await missingAlone(4);
    await peers.delivery.control(others[0]?.shipmentId ?? "", { delete: true });
    await pollThreeTimes(connector);
    expect(await connector.read(gone.requestId)).toMatchObject({ state: "cancelled" });
    expect(connector.events("all_shipments_missing")).toEqual([]);
    expect(polls()).toBe(3 * 3);
  });

  test("and that is alone in its runs does not stop the activation of other version 1 shipments", async () => {
    const connector = await testConnector(peers);
    const waiting = await createRequest(createShipmentBodyV1.parse(shipmentBodyV1()), {}, connector.context);
    peers.entra.fail({ kind: "refuse", method: "POST", path: "/fido2Methods$", status: 503 });
    await connector.runShipments();
    const gone = await ordered({ on: connector });
    await peers.delivery.control(gone.shipmentId, { delete: true });
    connector.advance(hours(1));
    expect(await connector.runShipments("timer")).toMatchObject({ missing: 1, activated: 1 });
    expect(await connector.read(waiting.requestId)).toMatchObject({ state: "complete" });
  });

  test("stops the job after three other shipments were asked for, if these are unknown too", async () => {
    const { gone, others, connector } = await missingAlone(5);
    for (const { shipmentId } of others) await peers.delivery.control(shipmentId, { delete: true });
    await pollThreeTimes(connector);
    expect(await connector.read(gone.requestId)).toMatchObject({ state: "started" });
    expect(connector.events("all_shipments_missing")).toHaveLength(3);
    expect(polls()).toBe(3 * 4);
  });

  test.each([
    ["throttles", 429],
    ["fails", 500],
  ])(
    "is not counted, and raises no error event, if the service %s when another shipment is asked for",
    async (_, status) => {
      const { gone, connector } = await missingAlone(1);
      const body = createShipmentBodyV1.parse(shipmentBodyV1());
      await createRequest(body, {}, connector.context);
      peers.entra.fail({ kind: "refuse", method: "POST", path: "/fido2Methods$", status: 503 });
      await connector.runShipments("on_demand");
      const missing = async () => (await connector.requestRow(gone.requestId)).delivery?.missing?.count;
      expect(await missing()).toBe(1);
      peers.delivery.fail({ kind: "refuse", path: `shipments/(?!${gone.shipmentId})`, status, times: 100 });
      connector.advance(hours(1));
      expect(await connector.runShipments("timer")).toMatchObject({ missing: 1, activated: 1 });
      expect(connector.events("all_shipments_missing")).toEqual([]);
      expect(await missing()).toBe(1);
      peers.delivery.clearFaults();
      connector.advance(hours(1));
      await connector.runShipments("timer");
      expect(await missing()).toBe(2);
    },
  );

  test.each([401, 403])("stops the job if the service answers %i when another shipment is asked for", async status => {
    const { gone, connector } = await missingAlone(1);
    peers.delivery.fail({ kind: "refuse", path: `shipments/(?!${gone.shipmentId})`, status, times: 100 });
    await connector.runShipments("timer");
    connector.advance(hours(1));
    expect(await connector.runShipments("timer")).toMatchObject({ missing: 1 });
    expect(connector.events("delivery_token_refused")).toHaveLength(1);
    expect(await connector.read(gone.requestId)).toMatchObject({ state: "started" });
  });

  test("stops the job if the service fails for one of the other shipments and does not know the rest", async () => {
    const { gone, others, connector } = await missingAlone(3);
    const [failing, ...deleted] = others;
    for (const { shipmentId } of deleted) await peers.delivery.control(shipmentId, { delete: true });
    peers.delivery.fail({ kind: "refuse", path: `shipments/${failing?.shipmentId}`, status: 500, times: 100 });
    await pollThreeTimes(connector);
    expect(connector.events("all_shipments_missing")).toHaveLength(3);
    expect(await connector.read(gone.requestId)).toMatchObject({ state: "started" });
  });

  test("is left where the time of the run ends before it is counted, and the run says so", async () => {
    const { gone, connector } = await missingAlone(1);
    connector.advance(hours(1));
    const { delivery, intervals } = connector.context;
    const slow = connector.anotherInstance({
      ports: (_, clock) => ({
        delivery: {
          ...delivery,
          getShipment: async id => {
            if (id !== gone.shipmentId) clock.advance(intervals.jobTimerMs);
            return delivery.getShipment(id);
          },
        },
      }),
    });
    expect(await slow.runShipments("timer")).toMatchObject({ missing: 1, left: 1 });
    expect((await connector.requestRow(gone.requestId)).delivery?.missing).toBeUndefined();
  });

  test("does not keep other shipments from being counted where its row cannot be read", async () => {
    const { gone, connector } = await missingAlone(1);
    const second = await ordered({ on: connector });
    await peers.delivery.control(second.shipmentId, { delete: true });
    connector.advance(hours(1));
    const { requests } = connector.context;
    let loads = 0;
    const damaged = connector.anotherInstance({
      ports: () => ({
        requests: {
          ...requests,
          load: async id => {
            if (id === gone.requestId && ++loads > 1) throw new Error("the row cannot be read");
            return requests.load(id);
          },
        },
      }),
    });
    expect(await damaged.runShipments("timer")).toMatchObject({ missing: 2 });
    expect((await connector.requestRow(second.requestId)).delivery?.missing?.count).toBe(1);
    expect(damaged.events("work_failed")).toMatchObject([{ credentialRequestId: gone.requestId }]);
  });

  test("is compared with shipments of the last week first, because the service may have removed older ones", async () => {
    const { others, connector } = await missingAlone(4, days(20));
    for (const { shipmentId } of others.slice(0, 3)) await peers.delivery.control(shipmentId, { delete: true });
    await connector.runShipments("timer");
    connector.advance(hours(1));
    await connector.runShipments("timer");
    expect(connector.events("all_shipments_missing")).toEqual([]);
    expect(peers.delivery.count("GET", new RegExp(others[3]?.shipmentId ?? "-"))).toBe(1);
    expect(polls()).toBe(2);
  });

  test("is not compared with shipments of more than 30 days ago, which the service may have removed", async () => {
    const { others, connector } = await missingAlone(1, days(31));
    await connector.runShipments();
    expect(connector.events("all_shipments_missing")).toHaveLength(1);
    expect(peers.delivery.count("GET", new RegExp(others[0]?.shipmentId ?? "-"))).toBe(0);
  });

  test("while every shipment of the run is unknown, stops the job with an error event and changes no item", async () => {
    const one = await ordered();
    const two = await ordered({ on: one.connector });
    const { connector } = one;
    for (const { shipmentId } of [one, two]) await peers.delivery.control(shipmentId, { delete: true });
    const before = [await connector.requestRow(one.requestId), await connector.requestRow(two.requestId)];
    for (let hour = 0; hour < 48; hour += 6) {
      connector.advance(hours(6));
      await connector.runShipments("timer");
    }
    expect([await connector.requestRow(one.requestId), await connector.requestRow(two.requestId)]).toEqual(before);
    expect(connector.events("all_shipments_missing")).toHaveLength(8);
    expect(connector.lines.filter(line => line.includes("cancelled"))).toEqual([]);
  });
});

describe("a delivery service that does not accept the connector", () => {
  test.each([401, 403])("by %i stops the job with an error event and changes no item", async status => {
    const one = await ordered({}, { limits: { callsAtOnce: 1 } });
    const { connector } = one;
    for (const _ of [1, 2, 3]) await ordered({ on: connector });
    const before = await connector.load(one.requestId);
    peers.delivery.fail({ kind: "refuse", path: "shipments/", status, times: 100 });
    await connector.runShipments();
    expect(connector.events("delivery_token_refused")).toHaveLength(1);
    expect(polls()).toBe(1);
    const after = await connector.load(one.requestId);
    expect(after.request.value).toEqual(before.request.value);
    expect(after.keys).toEqual(before.keys);
    peers.delivery.clearFaults();
    expect(await connector.runShipments()).toMatchObject({ answered: 4 });
  });
});

describe("a response that is not to be believed", () => {
  // jobs/failures/shipments.test.ts has responses of a wrong signature, key, request or form.
  test("because it is for a key of another request does not unlink a shipment that was not found by look-up", async () => {
    const others = await testConnector(peers);
    const { shipmentId: theirs = "" } = await others.order();
    await peers.delivery.control(theirs, { ship: true });
    const foreign = (await others.context.delivery.getShipment(theirs)).items[0]?.keys[0]?.credentials ?? [];
    const one = await ordered(
      { state: 103 },
      answering(shipment => {
        const [key] = shipment.shipment_items[0].product_data;
        key.fido_credential_responses = foreign;
        delete key.fido_pin_response;
        return shipment;
      }),
    );
    await one.connector.runShipments();
    expect((await one.connector.requestRow(one.requestId)).delivery).toMatchObject({
      shipment: { id: one.shipmentId },
    });
    expect(one.connector.events("shipment_link_rejected")).toEqual([]);
  });

  test("because two were swapped is not activated, and says so; an honest one is", async () => {
    const one = await ordered({ body: orderBody([2, 1]) });
    const { connector, requestId, shipmentId, users } = one;
    await peers.delivery.control(shipmentId, { sabotage: "swapped" });
    await connector.runShipments();
    const read = await connector.read(requestId);
    for (const credential of read.shipment?.shipment_items.flatMap(({ credentials }) => credentials) ?? [])
      expect(credential).toMatchObject({
        state: "processing",
        error_message: expect.stringMatching("^The key maker's response cannot be used: .*undecryptable"),
      });
    expect(await connector.runCredentials()).toMatchObject({ processed: 0 });
    expect(registered(users)).toEqual([]);

    await peers.delivery.control(shipmentId, { sabotage: null });
    connector.advance(hours(1));
    await connector.runShipments("timer");
    await connector.runCredentials();
    expect(await connector.read(requestId)).toMatchObject({ state: "complete" });
    expect((await connector.keyRow(requestId)).credentials[0]?.errorMessage).toBeUndefined();
    expect(registered(users)).toHaveLength(3);
  });

  test("beside a good one leaves that one alone", async () => {
    let broken = true;
    const one = await ordered(
      { body: orderBody([2]) },
      answering(shipment => {
        const [key] = shipment.shipment_items[0].product_data;
        if (broken) key.fido_credential_responses[0] = key.fido_credential_responses[1];
        return shipment;
      }),
    );
    await one.connector.runShipments();
    await one.connector.runCredentials();
    expect((await one.connector.keyRow(one.requestId)).credentials.map(({ state }) => state)).toEqual([
      "processing",
      "active",
    ]);
    broken = false;
    await one.connector.runShipments();
    await one.connector.runCredentials();
    expect(await one.connector.read(one.requestId)).toMatchObject({ state: "complete" });
  });

  test.each([
    ["first", 1],
    ["second", 2],
  ])("in the %s poll does not change the serial number and firmware of the security key", async (_, wrongPoll) => {
    let poll = 0;
    const one = await ordered(
      { body: orderBody([2]) },
      answering(shipment => {
        const [key] = shipment.shipment_items[0].product_data;
        // The second response is not ready, so that the shipment is polled again.
        key.fido_credential_responses[1] = "";
        if (++poll !== wrongPoll) return shipment;
        const wrong = { serial_number: "99999999", firmware_version: "1.0.0", fido_credential_responses: ["garbage"] };
        Object.assign(key, wrong);
        return shipment;
      }),
    );
    const { connector, requestId, users } = one;
    const { serial } = (await peers.delivery.control(one.shipmentId, { ship: true }))?.keys[0] ?? {};
    const seen = [];
    for (let run = 1; run <= 2; run++) {
      await connector.runShipments();
      const { serial, firmware } = await connector.keyRow(requestId);
      seen.push({ serial, firmware });
    }
    const proven = { serial, firmware: "5.7.4" };
    expect(seen).toEqual([wrongPoll === 1 ? {} : proven, proven]);
    await connector.runCredentials();
    expect(registered(users).map(({ displayName }) => displayName)).toEqual([
      expect.stringContaining(serial ?? "none"),
    ]);
    const [mail] = peers.mail.mails().filter(({ text }) => text?.includes(users[0] ?? "none"));
    expect(mail?.subject).toContain(serial);
  });

  test("that is stored but cannot be opened any more ends failed instead of being registered", async () => {
    const one = await ordered();
    await one.connector.runShipments();
    const key = await one.connector.keyRow(one.requestId);
    const responses = await one.connector.context.responses.put(one.requestId, key.id, { credentials: ["garbage"] });
    await one.connector.context.requests.save(await one.connector.load(one.requestId), {
      keys: [{ ...key, responses }],
    });
    await one.connector.runCredentials();
    expect(await credentialOf(one)).toMatchObject({
      state: "failed",
      error_message: expect.stringContaining("malformed"),
    });
    expect(registered(one.users)).toEqual([]);
  });

  test("signed by a key that is new at the service is believed: the signing keys are read again", async () => {
    const one = await ordered();
    await one.connector.runShipments();
    await one.connector.runCredentials();
    await peers.delivery.rotateKeys();
    one.connector.advance(minutes(2));
    const two = await ordered({ on: one.connector });
    await two.connector.runShipments();
    await two.connector.runCredentials();
    expect(await two.connector.read(two.requestId)).toMatchObject({ state: "complete" });
  });

  test("because the signing keys cannot be read is polled again", async () => {
    const one = await ordered();
    peers.delivery.fail({ kind: "refuse", path: "sign", times: 3 });
    expect(await one.connector.runShipments()).toMatchObject({ failed: 1 });
    expect(await credentialOf(one)).toMatchObject({ state: "processing" });
    one.connector.advance(hours(1));
    await one.connector.runShipments("timer");
    expect(await credentialOf(one)).toMatchObject({ state: "activation_pending" });
  });
});

describe("a credential that waits for its key", () => {
  const reason = "The identity provider's challenge expired before the response of the security key was read.";

  test("ends failed when its challenge has expired, not before", async () => {
    const one = await ordered(
      { state: 101 },
      { settings: { IDPA_FIDO_API_CHALLENGE_TIMEOUT_MINUTES: "1440", DELIVERY_PRODUCTION_DAYS: "0" } },
    );
    // The identity provider counts by its own clock.
    one.connector.advance(days(1) - minutes(1));
    await one.connector.runShipments();
    expect(await credentialOf(one)).toMatchObject({ state: "processing" });
    one.connector.advance(minutes(2));
    await one.connector.runShipments();
    expect(await credentialOf(one)).toMatchObject({ state: "failed", error_message: reason });
    expect(await one.connector.read(one.requestId)).toMatchObject({ state: "failed" });
    expect(await one.connector.queue("poll")).toEqual([]);
  });

  test("ends failed after 180 days where the identity provider names no end", async () => {
    const endless = (context: TestConnector["context"]) => ({
      idps: idpsOf(context, idp => ({
        creationOptions: async (wanted, signal) => {
          const { expiresAt: _, ...challenge } = await idp.creationOptions(wanted, signal);
          return challenge;
        },
      })),
    });
    const one = await ordered({ state: 101 }, { ports: endless });
    one.connector.advance(days(180) - 1);
    await one.connector.runShipments();
    expect(await credentialOf(one)).toMatchObject({ state: "processing" });
    one.connector.advance(1);
    await one.connector.runShipments();
    expect(await credentialOf(one)).toMatchObject({ state: "failed", error_message: reason });
  });

  test.each<[string, (one: Ordered) => unknown]>([
    ["is unknown to the delivery service", ({ shipmentId }) => peers.delivery.control(shipmentId, { delete: true })],
    ["cannot be asked for", () => peers.delivery.fail({ kind: "drop", path: "shipments/", times: 1000 })],
    ["is refused to us", () => peers.delivery.fail({ kind: "refuse", status: 401, path: "shipments/", times: 1000 })],
  ])("ends so also where its shipment %s", async (_, prepare) => {
    const one = await ordered({ body: orderBody([1, 2]) });
    await prepare(one);
    await one.connector.runShipments();
    expect(await credentialOf(one)).toMatchObject({ state: "processing" });
    one.connector.advance(days(14) + minutes(1));
    await one.connector.runShipments();
    expect(await one.connector.read(one.requestId)).toMatchObject({ state: "failed" });
    expect(await credentialOf(one, 1, 1)).toMatchObject({ state: "failed", error_message: reason });
    expect(await one.connector.queue("poll")).toEqual([]);
  });

  test("is not registered when its response comes too late", async () => {
    const one = await ordered(
      {},
      { settings: { IDPA_FIDO_API_CHALLENGE_TIMEOUT_MINUTES: "62", DELIVERY_PRODUCTION_DAYS: "0" } },
    );
    one.connector.advance(hours(1) + minutes(3));
    await one.connector.runShipments();
    await one.connector.runCredentials();
    expect(await credentialOf(one)).toMatchObject({ state: "failed", error_message: reason });
    expect(registered(one.users)).toEqual([]);
  });
});

test("a delivery service that cannot be reached leaves every item due", async () => {
  const one = await ordered();
  const away = one.connector.anotherInstance({ settings: { DELIVERY_API_BASE_URL: deadAddress } });
  expect(await away.runShipments()).toMatchObject({ failed: 1 });
  expect(await one.connector.queue("poll")).toHaveLength(1);
});

test("a key's custom name and serial are what the identity provider shows", async () => {
  const named = altered(orderBody([1, 1]), {
    "shipment.shipment_items[1].name": undefined,
    "shipment.shipment_items[1].credentials[0].user_id": newUser(),
  });
  const one = await ordered({ body: named });
  await one.connector.runShipments();
  await one.connector.runCredentials();
  const serials = await Promise.all(
    ["s-01-001", "s-02-001"].map(async id => (await one.connector.keyRow(one.requestId, id)).serial),
  );
  expect(one.users.map(user => registered([user])[0]?.displayName)).toEqual([
    `Key 1: ${serials[0]}`,
    `Pre-Reg Key: ${serials[1]}`,
  ]);
  const { shipment } = await one.connector.read(one.requestId);
  expect(shipment?.shipment_items.map(({ name }) => name)).toEqual(["Key 1", "Pre-Reg Key"]);
});
