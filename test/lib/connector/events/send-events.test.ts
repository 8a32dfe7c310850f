import { describe, expect, test, vi } from "vitest";
import { cancelRequest } from "../../../../lib/connector/cancel/cancel-request.ts";
import { eraseRecipient } from "../../../../lib/connector/cancel/erase-recipient.ts";
import { readEvents } from "../../../../lib/connector/events/read-events.ts";
import { sendEventsAfterJob } from "../../../../lib/connector/events/send-events.ts";
import { recordPause } from "../../../../lib/connector/events/sink-state.table.ts";
import type { EventType } from "../../../../lib/connector/model/states.ts";
import { Fault } from "../../../../lib/platform/fault.ts";
import { PeerFailure } from "../../../../lib/platform/peer-failure.ts";
import { days, hours, minutes, plus, seconds } from "../../../../lib/platform/time.ts";
import { cloudEventSchemas } from "../../../../local/generate/asyncapi/cloud-event-schemas.ts";
import { crashing, withTable } from "../../../support/connector/crashing.ts";
import {
  connectorWith,
  course,
  idsAt,
  newSinkSecret,
  send,
  sinkOfFile,
  typesAt,
  verified,
} from "../../../support/connector/event-sinks.ts";
import { orderBody, peersOfFile, type TestConnector, withoutPins } from "../../../support/connector/test-connector.ts";
import { until } from "../../../support/until.ts";
import { altered } from "../api/bodies.ts";

const peers = await peersOfFile();
const one = await sinkOfFile(peers.vault, 1);
const two = await sinkOfFile(peers.vault, 2);
const secretOf = (number: number) => peers.vault.get(`event-sink-${number}`) ?? "";

/** Creates a request of one key without a PIN: the events before its mail are the same. */
const orderWithoutPin = (connector: TestConnector) => connector.order(withoutPins(orderBody()));

async function completed(connector: TestConnector, body = orderBody()) {
  const { requestId } = await connector.orderAndRun(body);
  return requestId;
}

/** Index rows of due events, of every sink. */
async function dueRows({ context, now }: TestConnector): Promise<number> {
  let count = 0;
  for (const { number } of context.sinks) count += (await context.events.dueUntil(number, now(), 1000)).length;
  return count;
}

describe("the events of a request", () => {
  test("reach a sink only if they are of the types that it wants, in order", async () => {
    const settings = { EVENT_SINK_TYPES: "credential.active+request.ended" };
    const connector = await connectorWith(peers, [one, two], { settings });
    const requestId = await completed(connector);
    await send(connector);
    expect(typesAt(one)).toEqual(course.filter(type => type === "credential.active" || type === "request.ended"));
    expect(typesAt(two)).toEqual(course);
    const data = readEvents(await connector.context.events.load(requestId));
    const sinksOf = data.map(({ type, deliveries }) => [type, ...deliveries.map(({ sink, state }) => [sink, state])]);
    expect(sinksOf[0]).toEqual(["fido-connector.request.started", [2, "delivered"]]);
    expect(sinksOf.at(-1)?.slice(1)).toContainEqual([2, "delivered"]);
    expect(await dueRows(connector)).toBe(0);
    expect(await send(connector)).toMatchObject({ delivered: 0 });
  });

  test("show the last error of a delivery to a sink that does not want the event before it", async () => {
    const settings = { EVENT_SINK_TYPES: "request.ended" };
    const connector = await connectorWith(peers, [one], { settings });
    const requestId = await completed(connector);
    one.fail({ kind: "refuse", status: 500 });
    await send(connector);
    const data = readEvents(await connector.context.events.load(requestId));
    const [shown] = data.flatMap(({ deliveries }) => deliveries);
    expect(shown).toMatchObject({ state: "pending", attempts: 1, error_message: expect.stringContaining("500") });
  });

  test("name the request as people do, and each security key by its serial number", async () => {
    const connector = await connectorWith(peers, [one]);
    const body = altered(orderBody(), {
      "recipient.external_id": "Emp-4711",
      "shipment.customer_reference": "INC0012345",
    });
    const requestId = await completed(connector, body);
    await send(connector);
    const serial = (await connector.load(requestId)).keys[0]?.serial;
    const data = new Map(
      verified(one, secretOf(1)).map(event => [event.type.replace("fido-connector.", ""), event.data]),
    );
    expect(data.get("request.started")).toMatchObject({ customer_reference: "INC0012345", external_id: "Emp-4711" });
    expect(data.get("request.started")).not.toHaveProperty("tracking");
    expect(data.get("key.shipped")).toMatchObject({ tracking: { number: expect.stringMatching(/^SIM-/) } });
    expect(data.get("credential.active")).toMatchObject({ serial_number: serial, customer_reference: "INC0012345" });
  });

  test("never have the email in place of an identifier", async () => {
    const connector = await connectorWith(peers, [one]);
    await completed(
      connector,
      altered(orderBody(), {
        "recipient.email": "Jan.Order@Example.com",
        "recipient.external_id": "jan.order@example.com",
      }),
    );
    await send(connector);
    for (const { data } of verified(one, secretOf(1))) expect(data).not.toHaveProperty("external_id");
  });

  test("reach every sink once, in order, signed by the secret of the sink", async () => {
    const connector = await connectorWith(peers, [one, two]);
    const requestId = await completed(connector);
    expect(await send(connector)).toEqual({ delivered: 10, failed: 0, givenUp: 0, deferred: 0 });
    expect(typesAt(one)).toEqual(course);
    expect(typesAt(two)).toEqual(course);
    expect(idsAt(two)).toEqual(idsAt(one));
    expect(new Set(idsAt(one)).size).toBe(course.length);
    for (const event of verified(one, secretOf(1))) {
      const type = event.type.replace("fido-connector.", "") as EventType;
      expect(cloudEventSchemas[type].strict().parse(event)).toMatchObject({ subject: requestId });
    }
    expect(() => verified(two, secretOf(1))).toThrow();
    verified(two, secretOf(2));
    expect(await send(connector)).toMatchObject({ delivered: 0 });
    expect(await dueRows(connector)).toBe(0);
  });

  test("contain no personal data", async () => {
    const connector = await connectorWith(peers, [one]);
    const body = orderBody([2, 1]);
    const users = body.shipment.shipment_items.flatMap(({ credentials }) => credentials.map(({ user_id }) => user_id));
    const requestId = await completed(connector, body);
    await send(connector);
    const people = [...Object.values(body.recipient), ...users, ...Object.values(body.shipment.mailing_address)];
    const ids = [requestId, "US", "MA"];
    expect(one.events().length).toBeGreaterThan(5);
    for (const text of people.filter(value => !ids.includes(value)))
      for (const event of one.events()) expect(event.body).not.toContain(text);
  });

  test("are delivered after an earlier one that waits for its back-off", async () => {
    const connector = await connectorWith(peers, [one]);
    await orderWithoutPin(connector);
    one.fail({ kind: "refuse", status: 500 });
    await send(connector);
    await connector.runShipments();
    expect(await send(connector)).toMatchObject({ delivered: 0, failed: 0 });
    connector.advance(minutes(1));
    await send(connector);
    expect(typesAt(one)).toEqual(["request.started", "key.shipped"]);
    expect(await dueRows(connector)).toBe(0);
  });
});

describe("a sink that misbehaves", () => {
  test("and hangs gets the same event again, and delays no other sink", async () => {
    const connector = await connectorWith(peers, [one, two], { limits: { eventCallMs: 5000 } });
    await orderWithoutPin(connector);
    one.fail({ kind: "hang" });
    expect(await send(connector)).toMatchObject({ delivered: 1, failed: 1 });
    expect(typesAt(two)).toEqual(["request.started"]);
    one.clearFaults();
    connector.advance(minutes(1));
    expect(await send(connector)).toMatchObject({ delivered: 1, failed: 0 });
    expect(idsAt(one)).toEqual(idsAt(two));
  });

  test("and redirects is not named by its address in reads and in the log", async () => {
    const connector = await connectorWith(peers, [one]);
    const { requestId } = await orderWithoutPin(connector);
    one.fail({ kind: "refuse", status: 302 });
    await send(connector);
    const [event] = readEvents(await connector.context.events.load(requestId));
    expect(event?.deliveries).toMatchObject([{ error_message: expect.stringContaining("redirects to another") }]);
    expect(JSON.stringify([event, connector.events("event_not_sent")])).not.toContain(new URL(one.url).host);
  });

  test("and answers 429 is not called before its Retry-After, for no request", async () => {
    const connector = await connectorWith(peers, [one]);
    await orderWithoutPin(connector);
    one.fail({ kind: "throttle", retryAfter: 600 });
    await send(connector);
    await orderWithoutPin(connector);
    connector.advance(minutes(9));
    await send(connector);
    expect(one.requests()).toHaveLength(1);
    connector.advance(minutes(1));
    expect(await send(connector)).toMatchObject({ delivered: 2 });
  });

  test("and answers 410 is not called again until an administrator resumes it", async () => {
    const connector = await connectorWith(peers, [one, two]);
    await orderWithoutPin(connector);
    one.fail({ kind: "refuse", status: 410 });
    await send(connector);
    expect(connector.events("event_sink_stopped")).toMatchObject([{ sink: 1 }]);
    connector.advance(hours(30));
    await orderWithoutPin(connector);
    await send(connector);
    expect(one.requests()).toHaveLength(1);
    expect(two.requests()).toHaveLength(2);
    await connector.context.events.changeSinkState(1, () => ({}));
    expect(await send(connector)).toMatchObject({ delivered: 2 });
    expect(await dueRows(connector)).toBe(0);
  });

  test.each([
    ["410 and another one with 429", "one after the other"],
    ["410 and another one with 429", "at the same time"],
    ["429 and another one with 410", "at the same time"],
  ])("and answers one call with %s, %s, is not called after the wait", async (answers, when) => {
    const connector = await connectorWith(peers, [one]);
    await orderWithoutPin(connector);
    const [sink] = connector.context.sinks;
    if (sink === undefined) throw new Error("no event sink is configured");
    const gone = new PeerFailure("event sink 1", "send event", "refused", { status: 410 });
    const throttled = new PeerFailure("event sink 1", "send event", "throttled", {
      status: 429,
      retryAfterSeconds: 30,
    });
    const pause = (failure: PeerFailure) => recordPause(failure, sink, connector.context);
    const failures = answers.startsWith("410") ? [gone, throttled] : [throttled, gone];
    if (when === "at the same time") await Promise.all(failures.map(pause));
    else for (const failure of failures) await pause(failure);
    connector.advance(minutes(5));
    await send(connector);
    expect(one.requests()).toHaveLength(0);
    await connector.context.events.changeSinkState(1, () => ({}));
    expect(await send(connector)).toMatchObject({ delivered: 1 });
  });

  test.each([
    ["410", { kind: "refuse", status: 410 }, "stopped"],
    ["429", { kind: "throttle", retryAfter: 600 }, "notBefore"],
  ] as const)("and answers %s is called by no other host, before the run has ended", async (_, fault, what) => {
    const connector = await connectorWith(peers, [one]);
    for (let n = 0; n < 2; n++) await orderWithoutPin(connector);
    one.fail({ kind: "hang" });
    one.fail(fault);
    const sent = send(connector);
    await one.untilHanging();
    await vi.waitFor(async () => expect(await connector.context.events.sinkState(1)).toHaveProperty(what));
    one.release();
    await sent;
    expect(await connector.context.events.sinkState(1)).toHaveProperty(what);
  });

  test("and answered 410 is called again at another address", async () => {
    const connector = await connectorWith(peers, [one]);
    await orderWithoutPin(connector);
    one.fail({ kind: "refuse", status: 410 });
    await send(connector);
    const moved = connector.anotherInstance({ settings: { EVENT_SINK_URLS: `${one.url}/another` } });
    expect(await send(moved)).toMatchObject({ delivered: 1 });
  });

  test("for EVENT_RETRY_HOURS loses the event, with an error event, and gets the next one", async () => {
    const connector = await connectorWith(peers, [one], { settings: { EVENT_RETRY_HOURS: "2" } });
    const { requestId } = await orderWithoutPin(connector);
    one.fail({ kind: "refuse", status: 500, times: 2 });
    await send(connector);
    connector.advance(hours(2));
    expect(await send(connector)).toMatchObject({ delivered: 0, givenUp: 1 });
    expect(connector.events("event_given_up")).toMatchObject([
      { sink: 1, type: "request.started", credentialRequestId: requestId },
    ]);
    await connector.runShipments();
    expect(await send(connector)).toMatchObject({ delivered: 1 });
    expect(typesAt(one)).toEqual(["key.shipped"]);
    expect(await dueRows(connector)).toBe(0);
  });

  test("at the first attempt of an old event gets it once more", async () => {
    const connector = await connectorWith(peers, [one], { settings: { EVENT_RETRY_HOURS: "2" } });
    await orderWithoutPin(connector);
    connector.advance(hours(3));
    one.fail({ kind: "refuse", status: 500 });
    expect(await send(connector)).toMatchObject({ failed: 1, givenUp: 0 });
    connector.advance(minutes(1));
    expect(await send(connector)).toMatchObject({ delivered: 1 });
  });

  test("for one request only does not keep the events of others", async () => {
    const connector = await connectorWith(peers, [one]);
    for (let n = 0; n < 3; n++) await orderWithoutPin(connector);
    one.fail({ kind: "refuse", status: 400 });
    expect(await send(connector)).toMatchObject({ delivered: 2, failed: 1 });
  });

  test("by refusing some requests still gets the events of the others", async () => {
    const connector = await connectorWith(peers, [one]);
    for (let n = 0; n < 9; n++) await orderWithoutPin(connector);
    one.fail({ kind: "refuse", status: 400, times: 8 });
    expect(await send(connector)).toMatchObject({ delivered: 1, failed: 8, deferred: 0 });
  });

  test("and does not answer is called for few requests in a run", async () => {
    const connector = await connectorWith(peers, [one]);
    for (let n = 0; n < 8; n++) await orderWithoutPin(connector);
    one.fail({ kind: "drop", times: 100 });
    const report = await send(connector);
    expect(one.requests().length).toBeLessThanOrEqual(4);
    expect(report.deferred).toBeGreaterThanOrEqual(4);
    one.clearFaults();
    connector.advance(minutes(1));
    expect(await send(connector)).toMatchObject({ delivered: 8 });
  });
});

test("a sink that does not answer delays neither the events of another sink nor the end of a job", async () => {
  const connector = await connectorWith(peers, [one, two], { limits: { eventCallMs: 15_000 } });
  await orderWithoutPin(connector);
  one.fail({ kind: "hang" });
  const sent = send(connector);
  await one.untilHanging();
  const typesOfTwo = () => typesAt(two).join();
  await until(() => typesOfTwo() === "request.started", typesOfTwo);
  expect(one.requests()).toMatchObject([{ status: null }]);
  await connector.runShipments();
  await sendEventsAfterJob(connector.context, minutes(1));
  expect(typesAt(two)).toEqual(["request.started", "key.shipped"]);
  expect(one.requests()).toMatchObject([{ status: null }]);
  one.release();
  await sent;
});

describe("a run without storage", () => {
  let calls = 0;
  const isAway = () => {
    calls++;
    throw new Fault("unavailable", "Storage is not responding.");
  };

  test("ends, reports the requests that it defers, and logs an error for each sink", async () => {
    const connector = await connectorWith(peers, [one, two]);
    for (let n = 0; n < 6; n++) await orderWithoutPin(connector);
    const noRequests = connector.anotherInstance({
      tables: withTable("credentialrequests", () => ({ query: isAway })),
    });
    calls = 0;
    expect(await send(noRequests)).toEqual({ delivered: 0, failed: 0, givenUp: 0, deferred: 12 });
    // One read of each of the 4 workers of a sink. The others of the 6 requests are not read.
    expect(calls).toBe(8);
    expect(noRequests.events("event_sink_failed").map(({ sink }) => sink)).toEqual([1, 2]);
    const noIndex = connector.anotherInstance({ tables: withTable("due", () => ({ get: isAway, query: isAway })) });
    expect(await send(noIndex)).toEqual({ delivered: 0, failed: 0, givenUp: 0, deferred: 0 });
    expect(noIndex.events("event_sink_failed").map(({ sink }) => sink)).toEqual([1, 2]);
    await sendEventsAfterJob(noIndex.context);
    expect(one.requests()).toEqual([]);
    expect(await send(connector)).toMatchObject({ delivered: 12 });
  });

  test("waits for the calls that its other workers have made", async () => {
    const connector = await connectorWith(peers, [one]);
    for (let n = 0; n < 2; n++) await orderWithoutPin(connector);
    const called = Promise.withResolvers<void>();
    let reads = 0;
    const host = connector.anotherInstance({
      tables: withTable("credentialrequests", table => ({
        // The second worker fails when the first one is in its call.
        query: async function* (range) {
          if (++reads === 2) await called.promise.then(isAway);
          yield* table.query(range);
        },
      })),
    });
    one.fail({ kind: "hang" });
    let hasEnded = false;
    const sent = send(host).finally(() => {
      hasEnded = true;
    });
    await one.untilHanging();
    called.resolve();
    const failures = () => host.events("event_sink_failed").length;
    await until(
      () => failures() === 1,
      () => `${failures()} failures`,
    );
    expect(hasEnded).toBe(false);
    one.release();
    expect(await sent).toEqual({ delivered: 1, failed: 0, givenUp: 0, deferred: 1 });
  });
});

describe("a run whose time is over", () => {
  /** A host whose calls take so long by its clock. */
  const slow = (connector: TestConnector, ms: number): TestConnector =>
    connector.anotherInstance({
      ports: ({ sinks }, clock) => ({
        sinks: sinks.map(sink => ({
          ...sink,
          send: (event, signal) => {
            clock.advance(ms);
            return sink.send(event, signal);
          },
        })),
      }),
    });

  test("sends no further event of a request, and releases its delivery for the next run", async () => {
    const connector = await connectorWith(peers, [one]);
    await completed(connector);
    expect(await send(slow(connector, seconds(20)))).toMatchObject({ delivered: 3, failed: 0 });
    expect(await send(connector)).toMatchObject({ delivered: 2 });
    expect(typesAt(one)).toEqual(course);
  });

  test.each([
    [seconds(5), 1],
    [seconds(5) + 1, 0],
  ])("calls a sink only if the lease outlasts the call: %i ms after it was taken %i times", async (ms, calls) => {
    const connector = await connectorWith(peers, [one], { limits: { leaseMs: 20_000, eventCallMs: 15_000 } });
    await orderWithoutPin(connector);
    const host = connector.anotherInstance({
      ports: ({ events }, clock) => ({
        events: {
          ...events,
          saveDelivery: async (...write) => {
            const saved = await events.saveDelivery(...write);
            if (one.requests().length === 0) clock.advance(ms);
            return saved;
          },
        },
      }),
    });
    await send(host);
    expect(one.requests()).toHaveLength(calls);
    connector.advance(seconds(20));
    expect(await send(connector)).toMatchObject({ delivered: 1 - calls });
  });

  test("starts no further request, and reports those that it defers", async () => {
    const connector = await connectorWith(peers, [one]);
    for (let n = 0; n < 6; n++) await orderWithoutPin(connector);
    const { delivered, deferred } = await send(slow(connector, seconds(45)));
    expect(delivered).toBeLessThanOrEqual(4);
    expect(deferred).toBeGreaterThanOrEqual(2);
    expect(await send(connector)).toMatchObject({ delivered: 6 - delivered, deferred: 0 });
  });
});

describe("the secret of a sink", () => {
  // Read again at each call, because the cache has a clock of its own.
  const uncached = { secretMaxAgeMs: 0, secretRefreshMs: 0 };

  test("is valid next to its next version until it is disabled", async () => {
    const connector = await connectorWith(peers, [one], { limits: uncached });
    const former = newSinkSecret();
    const next = newSinkSecret();
    const sendOne = async () => {
      one.clearEvents();
      await orderWithoutPin(connector);
      await send(connector);
    };
    peers.vault.set("event-sink-1", former);
    await sendOne();
    expect(verified(one, former)).toHaveLength(1);
    peers.vault.set("event-sink-1", next);
    await sendOne();
    expect(verified(one, former)).toHaveLength(1);
    expect(verified(one, next)).toHaveLength(1);
    const { secrets } = connector.deployment;
    const current = await secrets.get("event-sink-1");
    for (const { version } of await secrets.versions("event-sink-1"))
      if (version !== current?.version) await secrets.disable("event-sink-1", version);
    await sendOne();
    expect(verified(one, next)).toHaveLength(1);
    expect(() => verified(one, former)).toThrow();
  });

  test.each([
    ["missing", undefined],
    ["not a signing secret", "a password"],
  ])("that is %s keeps the events of the sink, and delays no other sink", async (_, wrong) => {
    const number = wrong === undefined ? 3 : 4;
    const places = Array.from({ length: number - 1 }, () => "none");
    const settings = { EVENT_SINK_URLS: [...places, `${one.url}/x`, `${two.url}/y`].join(",") };
    const connector = await connectorWith(peers, [], { settings, limits: uncached });
    if (wrong !== undefined) peers.vault.set(`event-sink-${number}`, wrong);
    peers.vault.set(`event-sink-${number + 1}`, newSinkSecret());
    await orderWithoutPin(connector);
    expect(await send(connector)).toMatchObject({ delivered: 1, failed: 1 });
    expect(typesAt(two)).toEqual(["request.started"]);
    peers.vault.set(`event-sink-${number}`, newSinkSecret());
    connector.advance(minutes(1));
    expect(await send(connector)).toMatchObject({ delivered: 1 });
  });
});

describe("two hosts", () => {
  test("send each event once, and never at the same time", async () => {
    const connector = await connectorWith(peers, [one]);
    const other = connector.anotherInstance();
    await completed(connector);
    one.fail({ kind: "delay", ms: 300, times: 3 });
    const [a, b] = await Promise.all([send(connector), send(other)]);
    expect(a.delivered + b.delivered).toBe(course.length);
    expect(typesAt(one)).toEqual(course);
  });

  test("continue after the lease of a host that stopped during a call", async () => {
    const connector = await connectorWith(peers, [one]);
    const other = connector.anotherInstance();
    await orderWithoutPin(connector);
    one.fail({ kind: "hang", phase: "after" });
    const stopped = send(connector);
    await one.untilHanging();
    expect(await send(other)).toMatchObject({ delivered: 0 });
    other.advance(seconds(181));
    expect(await send(other)).toMatchObject({ delivered: 1 });
    one.release();
    await stopped;
    expect(new Set(idsAt(one)).size).toBe(1);
    expect(await dueRows(connector)).toBe(0);
  });
});

test.each([0, 1, 2])(
  "with %i sinks, a change costs one write to the index for each sink that waits for none",
  async count => {
    const connector = await connectorWith(peers, [one, two].slice(0, count));
    await connector.order();
    const { sequential, total } = await connector.counted(() => connector.order());
    expect([sequential, total]).toEqual([5, 11 + count]);
  },
);

test.each([1, 2])(
  "with %i sinks, polls, activations, mails and cancels cost one more write for each sink",
  async count => {
    const costs = async (connector: TestConnector) => {
      await connector.order();
      const polled = await connector.counted(() => connector.runShipments());
      const activated = await connector.counted(() => connector.runCredentials());
      peers.delivery.settings({ shipAfterMs: hours(1) });
      const { requestId } = await connector.order();
      const cancelled = await connector.counted(() => cancelRequest(requestId, connector.context));
      peers.delivery.settings({ shipAfterMs: 0 });
      return [polled, activated, cancelled].map(({ total }) => total);
    };
    const [polled = 0, activated = 0, cancelled = 0] = await costs(await connectorWith(peers, []));
    const withSinks = await costs(await connectorWith(peers, [one, two].slice(0, count)));
    // An activation ends the request; its mail is a change of its own.
    expect(withSinks).toEqual([polled + count, activated + 2 * count, cancelled + count]);
  },
);

describe("the rows of events", () => {
  /** How many events and deliveries are stored. */
  const countStored = async ({ context }: TestConnector, requestId: string) => {
    const { recorded, deliveries } = await context.events.load(requestId);
    return recorded.length + deliveries.size;
  };

  test.each<[string, (connector: TestConnector, requestId: string) => Promise<unknown>]>([
    ["that is cleaned up", async ({ context, load }, requestId) => context.requests.remove(await load(requestId))],
    [
      "that is erased",
      async ({ context, requestRow }, requestId) => {
        const { recipient } = await requestRow(requestId);
        return eraseRecipient({ by: "email", name: recipient.email }, context, { leaveActive: true });
      },
    ],
  ])("are removed with a request %s, together with their index rows", async (_, remove) => {
    const connector = await connectorWith(peers, [one, two]);
    const requestId = await completed(connector);
    one.fail({ kind: "refuse", status: 500 });
    await send(connector);
    expect(await countStored(connector, requestId)).toBeGreaterThan(0);
    await remove(connector, requestId);
    connector.advance(hours(10));
    expect([await countStored(connector, requestId), await dueRows(connector)]).toEqual([0, 0]);
  });

  test("are removed with their request while a sender begins with them, and leave no row", async () => {
    const connector = await connectorWith(peers, [one]);
    const requestId = await completed(connector);
    const { died, goOn, options } = crashing("credentialrequests.replace", "before");
    const sent = send(connector.anotherInstance({ tables: options.tables }));
    await died;
    await connector.context.requests.remove(await connector.load(requestId));
    goOn();
    await sent;
    expect(await countStored(connector, requestId)).toBe(0);
    expect(one.requests()).toEqual([]);
  });

  test("are kept as long as one of them may be tried, and given up with their request", async () => {
    const connector = await connectorWith(peers, [one, two]);
    const requestId = await completed(connector);
    one.fail({ kind: "refuse", status: 500, times: 100 });
    await send(connector);
    connector.advance(hours(71));
    expect(await connector.runCleanUp(1)).toMatchObject({ deleted: 0 });
    connector.advance(hours(2));
    expect(await connector.runCleanUp(1)).toMatchObject({ deleted: 1 });
    expect(connector.events("event_given_up")).toMatchObject(
      course.map(type => ({ sink: 1, type, credentialRequestId: requestId })),
    );
    expect(await countStored(connector, requestId)).toBe(0);
  });

  test("do not keep a request whose events are delivered", async () => {
    const connector = await connectorWith(peers, [one]);
    await completed(connector);
    await send(connector);
    connector.advance(hours(25));
    expect(await connector.runCleanUp(1)).toMatchObject({ deleted: 1 });
    expect(connector.events("event_given_up")).toEqual([]);
  });

  test("of a mail that is given up long after the end of the request keep the request too", async () => {
    const connector = await connectorWith(peers, [one], { settings: { RFPR_RETRY_NUMBER_DAYS: "1" } });
    const { requestId } = await connector.orderAndPoll();
    const host = connector.anotherInstance({ settings: { PIN_MAIL_DOMAINS: "another.example" } });
    await host.runCredentials();
    expect(await send(host)).toMatchObject({ delivered: 4 });
    host.advance(days(4));
    await host.runCredentials("timer");
    // The first mail, although it was never sent: a resend has the next number.
    expect((await host.keyRow(requestId)).mail).toMatchObject({ state: "given_up", number: 1 });
    one.fail({ kind: "refuse", status: 500 });
    await send(host);
    expect(await host.runCleanUp(1)).toMatchObject({ deleted: 0 });
    host.advance(minutes(1));
    expect(await send(host)).toMatchObject({ delivered: 1 });
    expect(typesAt(one).at(-1)).toBe("pin_mail.given_up");
    expect(await host.runCleanUp(1)).toMatchObject({ deleted: 1 });
  });

  test("after a gap in the positions, as in a backup that was made during a change, are sent", async () => {
    const connector = await connectorWith(peers, [one]);
    const { requestId } = await orderWithoutPin(connector);
    await connector.deployment.tables.table("credentialrequests").remove(requestId, "event:000001");
    await connector.runShipments();
    expect(await send(connector)).toMatchObject({ delivered: 1 });
    expect(typesAt(one)).toEqual(["key.shipped"]);
    expect(await dueRows(connector)).toBe(0);
  });

  test("of a request that another host changes at the same time get positions without gaps", async () => {
    const connector = await connectorWith(peers, [one]);
    await completed(connector, orderBody([3, 2]));
    await send(connector);
    const sequences = one.events().map(({ body }) => Number(JSON.parse(body).sequence));
    expect(sequences).toEqual(sequences.map((_, index) => index + 1));
  });

  test("in the index that cannot be read do not keep back those after them", async () => {
    const connector = await connectorWith(peers, [one]);
    const { requestId } = await orderWithoutPin(connector);
    const due = connector.deployment.tables.table("due");
    await due.upsert({ partitionKey: "events_1", rowKey: `${plus(connector.now(), -1)}_unreadable_1`, schema: 1 });
    expect(await connector.context.events.dueUntil(1, connector.now(), 1)).toMatchObject([{ requestId }]);
  });

  test("in the index are removed when they are old and point to no event", async () => {
    const connector = await connectorWith(peers, [one]);
    const { requestId } = await orderWithoutPin(connector);
    await send(connector);
    const due = connector.deployment.tables.table("due");
    const add = (id: string) => {
      const at = connector.now();
      const columns = { schema: 1, requestId: id, first: 2, writtenAt: at };
      return due.upsert({ partitionKey: "events_1", rowKey: `${at}_${id}_2`, ...columns });
    };
    await add(requestId);
    await add("none");
    await send(connector);
    expect(await dueRows(connector)).toBe(2);
    connector.advance(minutes(11));
    await send(connector);
    expect(await dueRows(connector)).toBe(1);
    connector.advance(minutes(50));
    await send(connector);
    expect(await dueRows(connector)).toBe(0);
  });
});
