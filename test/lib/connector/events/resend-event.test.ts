import { describe, expect, test } from "vitest";
import { nothingDone } from "../../../../lib/connector/events/event.ts";
import { readEvents, readSink } from "../../../../lib/connector/events/read-events.ts";
import { resendEvent } from "../../../../lib/connector/events/resend-event.ts";
import { resendSince } from "../../../../lib/connector/events/resend-since.ts";
import { Fault } from "../../../../lib/platform/fault.ts";
import { hours, minutes, plus, seconds } from "../../../../lib/platform/time.ts";
import { crashing } from "../../../support/connector/crashing.ts";
import { connectorWith, idsAt, send, sinkOfFile, typesAt, verified } from "../../../support/connector/event-sinks.ts";
import { peersOfFile, type TestConnector } from "../../../support/connector/test-connector.ts";

const peers = await peersOfFile();
const one = await sinkOfFile(peers.vault, 1);
const two = await sinkOfFile(peers.vault, 2);

const eventsOf = async ({ context }: TestConnector, requestId: string) =>
  readEvents(await context.events.load(requestId));

/** A request whose start was sent, with the id of that event. */
async function ordered(sinks = [one], settings: Readonly<Record<string, string>> = {}) {
  const connector = await connectorWith(peers, sinks, { settings });
  const { requestId } = await connector.order();
  await send(connector);
  const [event] = await eventsOf(connector, requestId);
  const eventId = event?.id ?? "";
  const resend = (changes: object = {}) => resendEvent({ requestId, eventId, sink: 1, ...changes }, connector.context);
  const deliveries = async () => (await eventsOf(connector, requestId)).map(event => event.deliveries);
  return { connector, requestId, eventId, resend, deliveries };
}

test("sends a delivered event again, signed and under its id, to the chosen sink only", async () => {
  const { connector, eventId, resend, deliveries } = await ordered([one, two]);
  connector.advance(minutes(5));
  expect(await resend()).toEqual({ deliveredAt: connector.now() });
  expect([idsAt(one), idsAt(two)]).toEqual([[eventId, eventId], [eventId]]);
  expect(verified(one, peers.vault.get("event-sink-1") ?? "")).toHaveLength(2);
  expect(await deliveries()).toMatchObject([[{ state: "delivered", delivered_at: connector.now() }, { sink: 2 }]]);
  expect(connector.events("event_resent")).toMatchObject([{ sink: 1, eventId, delivered: true }]);
  expect(await send(connector)).toMatchObject({ delivered: 0 });
});

test("delivers a given-up event, and does not send the events after it again", async () => {
  const connector = await connectorWith(peers, [one], { settings: { EVENT_RETRY_HOURS: "1" } });
  const { requestId } = await connector.order();
  one.fail({ kind: "refuse", status: 500, times: 2 });
  await send(connector);
  connector.advance(hours(1));
  expect(await send(connector)).toMatchObject({ givenUp: 1 });
  await connector.runShipments();
  await send(connector);
  const [givenUp] = await eventsOf(connector, requestId);
  expect(givenUp?.deliveries).toEqual([{ sink: 1, state: "given_up" }]);
  await resendEvent({ requestId, eventId: givenUp?.id ?? "", sink: 1 }, connector.context);
  expect(typesAt(one)).toEqual(["key.shipped", "request.started"]);
  expect((await eventsOf(connector, requestId)).map(event => event.deliveries[0]?.state)).toEqual([
    "delivered",
    "delivered",
  ]);
  connector.advance(hours(1));
  expect(await send(connector)).toMatchObject({ delivered: 0, failed: 0 });
});

test("reports a failed attempt, changes nothing and does not repeat it", async () => {
  const { connector, resend, deliveries } = await ordered();
  const before = await deliveries();
  one.fail({ kind: "refuse", status: 500 });
  expect(await resend()).toEqual({ problem: expect.stringMatching(/^event sink 1: send event /) });
  expect(await deliveries()).toEqual(before);
  expect(connector.events("event_resent")).toMatchObject([{ delivered: false }]);
  connector.advance(hours(1));
  expect(await send(connector)).toMatchObject({ delivered: 0, failed: 0 });
  expect(await resend()).toHaveProperty("deliveredAt");
});

test("shows a failed attempt at the sink, and that the sink gets events again after one that succeeds", async () => {
  const { connector, resend } = await ordered();
  const shown = async () => connector.context.sinks.map(sink => readSink(sink, connector.context))[0];
  one.fail({ kind: "refuse", status: 500, times: 2 });
  const { problem = "" } = await resend();
  const failed_at = connector.now();
  const failure = { sink: 1, state: "active", failed_at, error_message: problem };
  expect(await shown()).toEqual({ ...failure, failed_attempts: 1 });
  await resend();
  expect(await shown()).toEqual({ ...failure, failed_attempts: 2 });
  await resend();
  expect(await shown()).toEqual({ ...failure, failed_attempts: 0 });
});

/** Sends an event again. The result of the delivery cannot be written. */
async function resendWithoutResult({ context }: TestConnector, event: { requestId: string; eventId: string }) {
  let writes = 0;
  const saveDelivery: typeof context.events.saveDelivery = async (...given) => {
    writes += 1;
    if (writes > 1) throw new Fault("unavailable", "no storage");
    return context.events.saveDelivery(...given);
  };
  const resend = resendEvent({ ...event, sink: 1 }, { ...context, events: { ...context.events, saveDelivery } });
  await expect(resend).rejects.toMatchObject({ kind: "unavailable" });
}

test.each([
  ["410", { kind: "refuse", status: 410 }, "stopped"],
  ["429", { kind: "throttle", retryAfter: 600 }, "notBefore"],
] as const)("stores that the sink answered %s before the result of the delivery", async (_, fault, what) => {
  const { connector, requestId, eventId } = await ordered();
  one.fail(fault);
  await resendWithoutResult(connector, { requestId, eventId });
  expect(await connector.context.events.sinkState(1)).toHaveProperty(what);
});

test("logs the repeated delivery also if storage becomes unavailable after it", async () => {
  const { connector, requestId, eventId } = await ordered();
  await resendWithoutResult(connector, { requestId, eventId });
  expect(idsAt(one)).toEqual([eventId, eventId]);
  expect(connector.events("event_resent")).toMatchObject([
    { credentialRequestId: requestId, eventId, delivered: true },
  ]);
});

test("refuses an event that waits for its first delivery, because it would overtake others", async () => {
  const connector = await connectorWith(peers, [one]);
  const { requestId } = await connector.order();
  const [event] = await eventsOf(connector, requestId);
  const resend = () => resendEvent({ requestId, eventId: event?.id ?? "", sink: 1 }, connector.context);
  await expect(resend()).rejects.toMatchObject({ kind: "conflict", message: expect.stringContaining("waits") });
  one.fail({ kind: "refuse", status: 500 });
  await send(connector);
  await expect(resend()).rejects.toMatchObject({ kind: "conflict" });
  expect(one.requests()).toHaveLength(1);
});

const isMissing = (what: string) => ({ kind: "not_found", message: expect.stringContaining(what) });

test.each([
  ["an unknown request", { requestId: "7c9e6679-7425-40de-944b-e07fc1f90ae7" }, "no such credential request"],
  ["an id that is no request", { requestId: "a/b' or '1" }, "no such credential request"],
  ["an unknown event", { eventId: "7c9e6679-7425-40de-944b-e07fc1f90ae7" }, "no such event for"],
  ["a sink that is not configured", { sink: 2 }, "no such event sink"],
])("refuses %s, without a call to a sink", async (_, changes, what) => {
  const { resend } = await ordered();
  await expect(resend(changes)).rejects.toMatchObject(isMissing(what));
  expect(one.requests()).toHaveLength(1);
});

test("refuses a sink that was configured after the event", async () => {
  const { connector, requestId, eventId } = await ordered();
  const later = connector.anotherInstance({ settings: { EVENT_SINK_URLS: `${one.url}/hook,${two.url}/hook` } });
  const toTwo = { requestId, eventId, sink: 2 };
  await expect(resendEvent(toTwo, later.context)).rejects.toMatchObject(isMissing("no such event for"));
  // Also when the sink has a delivery of its own, which a later event of the request creates.
  await later.runShipments();
  await send(later);
  await expect(resendEvent(toTwo, later.context)).rejects.toMatchObject(isMissing("no such event for"));
  expect(typesAt(two)).toEqual(["key.shipped"]);
});

test("makes no call if another call takes the lease at the same moment", async () => {
  const { connector, requestId, eventId, resend } = await ordered();
  const { died, goOn, options } = crashing("credentialrequests.replace", "before");
  const host = connector.anotherInstance({ tables: options.tables });
  const slower = resendEvent({ requestId, eventId, sink: 1 }, host.context);
  const refused = expect(slower).rejects.toMatchObject({ kind: "conflict", retryAfterSeconds: 5 });
  await died;
  expect(await resend()).toHaveProperty("deliveredAt");
  goOn();
  await refused;
  expect(idsAt(one)).toEqual([eventId, eventId]);
});

test("continues after the lease of a host that stopped during its call, and releases its own", async () => {
  const { connector, resend, requestId } = await ordered();
  const before = (await connector.context.events.load(requestId)).deliveries.get(1);
  const lease = { owner: "a host that stopped", until: plus(connector.now(), minutes(3)) };
  await connector.context.events.saveDelivery(requestId, 1, before, { ...(before?.value ?? nothingDone), lease });
  await expect(resend()).rejects.toMatchObject({ kind: "conflict", retryAfterSeconds: 5 });
  connector.advance(minutes(3));
  expect(await resend()).toHaveProperty("deliveredAt");
  expect((await connector.context.events.load(requestId)).deliveries.get(1)?.value).not.toHaveProperty("lease");
});

test("waits as long as a sink asks with Retry-After and stops one that answers 410, as the timer does", async () => {
  const { connector, resend } = await ordered();
  one.fail({ kind: "throttle", retryAfter: 600 });
  expect(await resend()).toHaveProperty("problem");
  await connector.order();
  expect(await send(connector)).toMatchObject({ delivered: 0, failed: 0 });
  await expect(resend()).rejects.toMatchObject({ kind: "throttled", retryAfterSeconds: 600 });
  connector.advance(minutes(10));
  one.fail({ kind: "refuse", status: 410 });
  expect(await resend()).toHaveProperty("problem");
  expect(connector.events("event_sink_stopped")).toMatchObject([{ sink: 1 }]);
  expect(await send(connector)).toMatchObject({ delivered: 0, failed: 0 });
  await expect(resend()).rejects.toMatchObject({ kind: "conflict", message: expect.stringContaining("410") });
  expect(one.requests()).toHaveLength(3);
});

test("makes one call at a time for a request and sink, also next to the timer", async () => {
  const { connector, resend } = await ordered();
  one.fail({ kind: "hang" });
  const first = resend();
  await one.untilHanging();
  await expect(resend()).rejects.toMatchObject({ kind: "conflict", retryAfterSeconds: 5 });
  await connector.runShipments();
  expect(await send(connector)).toMatchObject({ delivered: 0 });
  one.release();
  await first;
  expect(await send(connector)).toMatchObject({ delivered: 1 });
  connector.advance(seconds(1));
  expect(await resend()).toHaveProperty("deliveredAt");
});

describe("the events since a time", () => {
  const since = async (connector: TestConnector, at: string, after?: string) =>
    resendSince({ sink: 1, since: at, after }, connector.context);

  test("are sent again in their order, under their ids, and those before are not", async () => {
    const connector = await connectorWith(peers, [one]);
    const { requestId } = await connector.order();
    await send(connector);
    connector.advance(hours(1));
    const from = connector.now();
    await connector.runJobs();
    await connector.order();
    await send(connector);
    const [first, ...later] = idsAt(one).filter((_, index) => one.events()[index]?.body.includes(requestId));
    one.clearEvents();
    expect(await since(connector, from)).toEqual({ requests: 2, events: later.length + 1, left: 0, isComplete: true });
    await send(connector);
    const ofFirst = idsAt(one).filter((_, index) => one.events()[index]?.body.includes(requestId));
    expect(ofFirst).toEqual(later);
    expect(ofFirst).not.toContain(first);
    one.clearEvents();
    expect(await send(connector)).toMatchObject({ delivered: 0 });
  });

  test("include those that were given up", async () => {
    const connector = await connectorWith(peers, [one], { settings: { EVENT_RETRY_HOURS: "1" } });
    const { requestId } = await connector.order();
    const from = connector.now();
    one.fail({ kind: "refuse", status: 500, times: 2 });
    await send(connector);
    connector.advance(hours(1));
    await send(connector);
    expect(await since(connector, from)).toEqual({ requests: 1, events: 1, left: 0, isComplete: true });
    await send(connector);
    const [event] = await eventsOf(connector, requestId);
    expect(event?.deliveries).toMatchObject([{ sink: 1, state: "delivered" }]);
  });

  test("of other requests are sent again although those of one cannot be read", async () => {
    const connector = await connectorWith(peers, [one]);
    const from = connector.now();
    const { requestId } = await connector.order();
    await connector.order();
    await send(connector);
    const table = connector.deployment.tables.table("credentialrequests");
    const [row] = await Array.fromAsync(table.query({ partitionKey: requestId, rowKeyPrefix: "event:" }));
    await table.upsert({ ...(row ?? { partitionKey: "", rowKey: "" }), events: "garbage" });
    expect(await since(connector, from)).toEqual({ requests: 1, events: 1, left: 1, isComplete: true });
  });

  test("are refused for a sink that answered 410, so that none of them counts as undelivered", async () => {
    const connector = await connectorWith(peers, [one]);
    const from = connector.now();
    await connector.order();
    await send(connector);
    await connector.order();
    one.fail({ kind: "refuse", status: 410 });
    await send(connector);
    await expect(since(connector, from)).rejects.toMatchObject({ kind: "conflict" });
  });

  test("are refused for a sink that is not configured", async () => {
    const connector = await connectorWith(peers, [one]);
    await expect(resendSince({ sink: 2, since: connector.now() }, connector.context)).rejects.toMatchObject({
      kind: "not_found",
    });
  });
});
