import { describe, expect, test } from "vitest";
import { createShipmentBodyV1 } from "../../../../lib/connector/api/v1-shipment.ts";
import { createRequest } from "../../../../lib/connector/create/create-request.ts";
import { Fault } from "../../../../lib/platform/fault.ts";
import { days, hours, minutes, seconds } from "../../../../lib/platform/time.ts";
import { changedKeys, changedShipment, withPort } from "../../../support/connector/changed-peers.ts";
import { usersOf } from "../../../support/connector/in-a-state.ts";
import {
  type ConnectorOptions,
  caller,
  orderBody,
  peersOfFile,
  type TestConnector,
  testConnector,
} from "../../../support/connector/test-connector.ts";
import type { Body } from "../api/bodies.ts";
import { shipmentBodyV1 } from "../api/shipment-body-v1.ts";

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
  return { connector, requestId, shipmentId, users: usersOf(body) };
}

const credentialOf = async ({ connector, requestId }: Ordered, item = 0, credential = 0) =>
  (await connector.read(requestId)).shipment?.shipment_items[item]?.credentials[credential];

const mailsFor = ([user = ""]: readonly string[]) => peers.mail.mails().filter(({ text }) => text?.includes(user));

const registered = (users: readonly string[]) =>
  peers.entra.registrations().filter(({ userId }) => users.includes(userId));

test("a shipment that one run polls is skipped by another", async () => {
  const { connector } = await ordered({ state: 103 });
  peers.delivery.resetRequests();
  peers.delivery.fail({ kind: "hang", method: "GET", path: "/v1/fpr/shipments/" });
  const first = connector.runShipments();
  await peers.delivery.untilHanging();
  expect(await connector.anotherInstance({}).runShipments()).toMatchObject({ answered: 0, deferred: 0 });
  expect(polls()).toBe(1);
  peers.delivery.release();
  expect(await first).toMatchObject({ answered: 1 });
});

describe("a shipment in state", () => {
  test.each([
    [103, "Shipped"],
    [104, "Delivered"],
    [105, "Shipment Lost/Missing"],
    [106, "Delivery Exception"],
  ])("%i, %s, gives its responses: credentials are activation_pending", async (state, message) => {
    const one = await ordered({ state });
    const report = { answered: 1, missing: 0, failed: 0, activated: 0, tracked: 0, deferred: 0 };
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

  test.each<[number, string | undefined, ((shipment: Body) => Body)?]>([
    [101, undefined],
    [102, undefined],
    [105, "Shipment Lost/Missing", shipment => ({ ...shipment, shipment_items: [] })],
    [106, "Delivery Exception", shipment => ({ ...shipment, shipment_items: [] })],
    [8, "Error: Processing Error, contact Support"],
    [9, "Error: DPL Match"],
    [99, "Error: Shipping error, contact Support"],
    [1, "Incomplete Shipping Request"],
    [6, "Incomplete"],
    [7, "Address is undeliverable or could not be understood"],
    ...(
      [
        ["Something new", 42],
        ["Returned to sender", 107],
        [undefined, 1000],
      ] as const
    ).map(([message, id]): [number, string, (shipment: Body) => Body] => [
      id,
      message ?? "state 1000",
      shipment => ({
        ...shipment,
        shipment_state: { shipment_state_id: id, ...(message && { shipment_state_message: message }) },
      }),
    ]),
  ])(
    "%i without responses that count is shown as %j and polled again",
    async (state, message, change = same => same) => {
      let isOver = false;
      const known = state < 107 && state !== 42;
      const one = await ordered(
        known ? { state } : {},
        changedShipment(shipment => (isOver ? shipment : change(shipment))),
      );
      await one.connector.runShipments();
      const read = await one.connector.read(one.requestId);
      expect([read.state, read.error_message]).toEqual([
        "started",
        message && `The delivery service reports: ${message}`,
      ]);
      expect(await credentialOf(one)).toMatchObject({ state: "processing" });
      expect(await one.connector.queue("poll")).toHaveLength(1);
      isOver = true;
      await peers.delivery.control(one.shipmentId, { ship: true });
      await one.connector.runShipments();
      expect(await credentialOf(one)).toMatchObject({ state: "activation_pending" });
      expect((await one.connector.read(one.requestId)).error_message).toBeUndefined();
    },
  );
});

describe("polling", () => {
  test("of the others goes on in the same timer run when the Retry-After of the service is over", async () => {
    const slept: number[] = [];
    const connector = await testConnector(peers, {
      limits: { callsAtOnce: 1 },
      ports: (_, clock) => ({ sleep: async ms => clock.advance(slept.push(ms) && ms) }),
    });
    for (let n = 0; n < 3; n++) await connector.order();
    connector.advance(hours(1));
    peers.delivery.fail({ kind: "throttle", path: "shipments/", retryAfter: 60 });
    expect(await connector.runShipments("timer")).toMatchObject({ answered: 3, failed: 1, deferred: 0 });
    expect(slept).toEqual([seconds(60)]);
  });

  test("takes a key's responses one by one", async () => {
    let ready = 1;
    const one = await ordered(
      { body: orderBody([3]) },
      changedKeys(key => ({ ...key, fido_credential_responses: key.fido_credential_responses.slice(0, ready) })),
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
    expect(mailsFor(one.users)).toHaveLength(1);
  });

  const slice = (key: Body, from: number, to: number) =>
    key.fido_credential_responses.map((response: string, index: number) =>
      index >= from && index < to ? response : "",
    );
  const pin = (key: Body, text: string) => ({ ...key, fido_pin_response: text });
  test.each<[string, (key: Body) => Body, (key: Body) => Body, ((key: Body) => Body)?]>([
    [
      "keeps earlier responses if the service sends the rest later without them",
      key => ({ ...key, fido_credential_responses: slice(key, 0, 1) }),
      ({ fido_pin_response: _, ...key }) => ({ ...key, fido_credential_responses: slice(key, 1, 2) }),
    ],
    [
      "keeps the earlier PIN response if the service sends another text in its place with the rest",
      key => ({ ...key, fido_credential_responses: slice(key, 0, 1) }),
      key => pin(key, "purged"),
    ],
    [
      "keeps a later PIN response if the earlier one does not open",
      key => pin({ ...key, fido_credential_responses: slice(key, 0, 1) }, "not ready"),
      key => key,
      key => pin(key, "purged"),
    ],
  ])("%s", async (_, first, second, last = second) => {
    let change = first;
    const { connector, requestId, users } = await ordered(
      { body: orderBody([2]) },
      changedKeys(key => change(key)),
    );
    await connector.runShipments();
    change = second;
    await connector.runShipments();
    change = last;
    await connector.runCredentials();
    expect(await connector.read(requestId)).toMatchObject({ state: "complete" });
    expect(registered(users)).toHaveLength(2);
    expect(mailsFor(users)).toHaveLength(1);
  });

  test("takes the keys that are programmed if the service sends null in the place of one that is not", async () => {
    let ready = 1;
    const one = await ordered(
      { body: orderBody([1, 1]) },
      changedKeys((key, item) => (item < ready ? key : null)),
    );
    const etags = async () => {
      const { keys, etags } = await one.connector.load(one.requestId);
      return keys.map(({ id }) => etags.get(`key:${id}`));
    };
    const before = await etags();
    await one.connector.runShipments();
    expect((await credentialOf(one))?.state).toBe("activation_pending");
    expect((await credentialOf(one, 1))?.state).toBe("processing");
    // Only the row of the security key with news is written.
    expect((await etags()).map((etag, index) => etag === before[index])).toEqual([false, true]);
    await one.connector.runCredentials();
    expect(await one.connector.read(one.requestId)).toMatchObject({ state: "started" });
    ready = 2;
    await one.connector.runJobs();
    expect(await one.connector.read(one.requestId)).toMatchObject({ state: "complete" });
  });

  test("loses no response to an earlier poll whose host was suspended until another one had polled and saved", async () => {
    const suspended = Promise.withResolvers<void>();
    const resumed = Promise.withResolvers<void>();
    const body = orderBody([2]);
    const one = await ordered({ body });
    const { connector, requestId } = one;
    const early = connector.anotherInstance({
      ...changedKeys(({ fido_pin_response: _, ...key }) => ({
        ...key,
        fido_credential_responses: key.fido_credential_responses.slice(0, 1),
      })),
      ports: withPort("delivery", ({ getShipment }) => ({
        getShipment: async id => {
          const shipment = await getShipment(id);
          suspended.resolve();
          await resumed.promise;
          return shipment;
        },
      })),
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
    expect(mailsFor(one.users)).toHaveLength(1);
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

  /** A host whose run has polled the first shipment when it asks for the second one: then something else happens. */
  const pausing = ({ connector, requestId }: Ordered, second: Ordered, meanwhile: () => Promise<void>) => {
    const released = Promise.withResolvers<void>();
    return connector.anotherInstance({
      ports: (context, clock) => ({
        ...withPort("requests", ({ save }) => ({
          save: async (loaded, changes, options) => {
            const saved = await save(loaded, changes, options);
            if (changes.request?.id === requestId && changes.request.lease === undefined) released.resolve();
            return saved;
          },
        }))(context, clock),
        ...withPort("delivery", ({ getShipment }) => ({
          getShipment: async id => {
            if (id === second.shipmentId) {
              await released.promise;
              await meanwhile();
            }
            return getShipment(id);
          },
        }))(context, clock),
      }),
    });
  };

  test("and that two runs poll at the same time is counted once, and cancelled by one of them", async () => {
    const { gone, other, connector } = await missing();
    await ordered({ state: 101, on: connector });
    await connector.runShipments();
    connector.advance(hours(24));
    const late = pausing(gone, other, async () => void (await connector.runShipments()));
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
    const hasAsked = Promise.withResolvers<void>();
    const answer = Promise.withResolvers<void>();
    const second = connector.anotherInstance({
      ports: withPort("delivery", ({ getShipment }) => ({
        getShipment: async id => {
          if (id !== shipmentId) return getShipment(id);
          hasAsked.resolve();
          await answer.promise;
          return found;
        },
      })),
    });
    let secondRun: Promise<unknown> | undefined;
    const first = pausing(gone, other, () => {
      secondRun = second.runShipments();
      return hasAsked.promise;
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
    const failure = {
      credentialRequestId: gone.requestId,
      shipmentId: gone.shipmentId,
      error: { name: "PeerFailure" },
    };
    expect(connector.events("poll_failed")).toMatchObject([failure, failure]);
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
      changedShipment(shipment => ({ ...shipment, shipment_items: shipment.shipment_items.slice(0, 1) })),
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

  const deleteEach = (...shipments: readonly (Ordered | undefined)[]) =>
    Promise.all(shipments.map(each => peers.delivery.control(each?.shipmentId ?? "", { delete: true })));

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
  test.each<[string, Parameters<typeof missingAlone>, (others: readonly Ordered[]) => unknown, object]>([
    [
      "counts as cancelled, because the service answers for one that it has known",
      [4],
      ([first]) => deleteEach(first),
      { state: "cancelled", errors: [], calls: 3 * 3 },
    ],
    [
      "stops the job after three other shipments were asked for, if these are unknown too",
      [5],
      others => deleteEach(...others),
      { state: "started", errors: Array(3).fill("all_shipments_missing"), calls: 3 * 4 },
    ],
    [
      "stops the job if the service fails for one of the other shipments and does not know the rest",
      [3],
      ([failing, ...others]) => {
        peers.delivery.fail({ kind: "refuse", path: `shipments/${failing?.shipmentId}`, status: 500, times: 100 });
        return deleteEach(...others);
      },
      { state: "started", errors: Array(3).fill("all_shipments_missing") },
    ],
    [
      "stops the job if the service rejects the token when another shipment is asked for",
      [1],
      ([other]) =>
        peers.delivery.fail({ kind: "refuse", path: `shipments/${other?.shipmentId}`, status: 401, times: 100 }),
      { state: "started", errors: Array(3).fill("delivery_token_refused") },
    ],
    [
      "is compared with shipments of the last week first, because the service may have removed older ones",
      [4, days(20)],
      others => deleteEach(...others.slice(0, 3)),
      { state: "cancelled", errors: [], calls: 3 * 2 },
    ],
    [
      "is not compared with shipments of more than 30 days ago, which the service may have removed",
      [1, days(31)],
      () => undefined,
      { state: "started", errors: Array(3).fill("all_shipments_missing"), calls: 3 },
    ],
  ])("and that is alone in its runs %s", async (_, alone, prepare, expected) => {
    const { gone, others, connector } = await missingAlone(...alone);
    // They are not on their way any more, so only the poll asks for them.
    await prepare(others);
    for (const _ of [1, 2, 3]) {
      connector.advance(hours(12));
      await connector.runShipments("timer");
    }
    const { state } = await connector.read(gone.requestId);
    const errors = ["all_shipments_missing", "delivery_token_refused"].flatMap(event =>
      connector.events(event).map(() => event),
    );
    expect({ state, errors, calls: polls() }).toMatchObject(expected);
  });

  test("and that is alone in its runs does not stop the activation of other version 1 shipments", async () => {
    const connector = await testConnector(peers);
    const waiting = await createRequest(createShipmentBodyV1.parse(shipmentBodyV1()), { caller }, connector.context);
    peers.entra.fail({ kind: "refuse", method: "POST", path: "/fido2Methods$", status: 503 });
    await connector.runShipments();
    const gone = await ordered({ on: connector });
    await peers.delivery.control(gone.shipmentId, { delete: true });
    connector.advance(hours(1));
    expect(await connector.runShipments("timer")).toMatchObject({ missing: 1, activated: 1 });
    expect(await connector.read(waiting.requestId)).toMatchObject({ state: "complete" });
  });

  test.each([
    ["throttles", 429],
    ["fails", 500],
  ])(
    "is not counted, and raises no error event, if the service %s when another shipment is asked for",
    async (_, status) => {
      const { gone, connector } = await missingAlone(1);
      const body = createShipmentBodyV1.parse(shipmentBodyV1());
      await createRequest(body, { caller }, connector.context);
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

  test("is deferred where the time of the run ends before it is counted, and the run says so", async () => {
    const { gone, connector } = await missingAlone(1);
    connector.advance(hours(1));
    const { jobTimerMs } = connector.context.intervals;
    const slow = connector.anotherInstance({
      ports: withPort("delivery", ({ getShipment }, clock) => ({
        getShipment: id => {
          if (id !== gone.shipmentId) clock.advance(jobTimerMs);
          return getShipment(id);
        },
      })),
    });
    expect(await slow.runShipments("timer")).toMatchObject({ missing: 1, deferred: 1 });
    expect((await connector.requestRow(gone.requestId)).delivery?.missing).toBeUndefined();
  });

  test("does not keep other shipments from being counted where its row cannot be read", async () => {
    const { gone, connector } = await missingAlone(1);
    const second = await ordered({ on: connector });
    await peers.delivery.control(second.shipmentId, { delete: true });
    connector.advance(hours(1));
    let loads = 0;
    const damaged = connector.anotherInstance({
      ports: withPort("requests", ({ load }) => ({
        load: async id => {
          if (id === gone.requestId && ++loads > 1) throw new Error("the row cannot be read");
          return load(id);
        },
      })),
    });
    expect(await damaged.runShipments("timer")).toMatchObject({ missing: 2 });
    expect((await connector.requestRow(second.requestId)).delivery?.missing?.count).toBe(1);
    expect(damaged.events("work_failed")).toMatchObject([{ credentialRequestId: gone.requestId }]);
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
    expect(after.request).toEqual(before.request);
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
      changedKeys(key => {
        key.fido_credential_responses = foreign;
        delete key.fido_pin_response;
        return key;
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
      changedKeys(key => {
        if (broken) key.fido_credential_responses[0] = key.fido_credential_responses[1];
        return key;
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
      changedKeys(key => {
        // The second response is not ready, so that the shipment is polled again.
        key.fido_credential_responses[1] = "";
        if (++poll !== wrongPoll) return key;
        const wrong = { serial_number: "99999999", firmware_version: "1.0.0", fido_credential_responses: ["garbage"] };
        Object.assign(key, wrong);
        return key;
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
});

describe("a credential that waits for its key", () => {
  const reason = "The identity provider's challenge expired before the response of the security key was read.";

  test("ends failed when its challenge has expired, not before; its request keeps the last error of the shipment", async () => {
    const one = await ordered(
      { state: 99 },
      { settings: { IDPA_FIDO_API_CHALLENGE_TIMEOUT_MINUTES: "1440", DELIVERY_PRODUCTION_DAYS: "0" } },
    );
    // The identity provider counts by its own clock.
    one.connector.advance(days(1) - minutes(1));
    await one.connector.runShipments();
    expect(await credentialOf(one)).toMatchObject({ state: "processing" });
    one.connector.advance(minutes(2));
    await one.connector.runShipments();
    expect(await credentialOf(one)).toMatchObject({ state: "failed", error_message: reason });
    expect(await one.connector.read(one.requestId)).toMatchObject({
      state: "failed",
      error_message: expect.stringMatching(/^The delivery service reports: /),
    });
    expect(await one.connector.queue("poll")).toEqual([]);
  });

  test("ends so although its response is there; another credential of the key continues", async () => {
    const one = await ordered({ state: 103, body: orderBody([2]) });
    const { connector, requestId } = one;
    const key = await connector.keyRow(requestId);
    const late = { challengeExpiresAt: connector.now() };
    const credentials = key.credentials.map((each, index) => (index === 0 ? { ...each, ...late } : each));
    await connector.context.requests.save(await connector.load(requestId), { keys: [{ ...key, credentials }] });
    await connector.runShipments();
    expect(await credentialOf(one)).toMatchObject({ state: "failed", error_message: reason });
    expect(await credentialOf(one, 0, 1)).toMatchObject({ state: "activation_pending" });
  });

  test("ends so without a call where its shipment cannot be asked for", async () => {
    const one = await ordered({ body: orderBody([1, 2]) });
    peers.delivery.fail({ kind: "drop", path: "shipments/", times: 1000 });
    one.connector.advance(days(14) + minutes(1));
    await one.connector.runShipments();
    expect(polls()).toBe(0);
    expect(await one.connector.read(one.requestId)).toMatchObject({ state: "failed" });
    expect(await credentialOf(one, 1, 1)).toMatchObject({ state: "failed", error_message: reason });
    expect(await one.connector.queue("poll")).toEqual([]);
  });
});
