import { expect, test } from "vitest";
import { listEvents } from "../../../../functions/connector/events.ts";
import { connectorTasks } from "../../../../functions/connector/start/maintenance-tasks.ts";
import { eventsV2, readEvents, readSink } from "../../../../lib/connector/events/read-events.ts";
import { sendEvents } from "../../../../lib/connector/events/send-events.ts";
import { restoreRequest } from "../../../../lib/connector/storage/restore.table.ts";
import type { Fetch } from "../../../../lib/platform/call-peer.ts";
import { Fault } from "../../../../lib/platform/fault.ts";
import { backupsContainer } from "../../../../lib/platform/maintenance/read-backup.ts";
import { hours, minutes } from "../../../../lib/platform/time.ts";
import { connectorWith, course, idsAt, send, sinkOfFile, typesAt } from "../../../support/connector/event-sinks.ts";
import { idAt, onSiteBody } from "../../../support/connector/on-site.ts";
import { orderBody, peersOfFile, type TestConnector } from "../../../support/connector/test-connector.ts";
import { runTask } from "../../../support/run-task.ts";

const peers = await peersOfFile();
const one = await sinkOfFile(peers.vault, 1);
const two = await sinkOfFile(peers.vault, 2);

const list = async ({ context }: TestConnector, requestId: string) =>
  eventsV2.shape.data.parse(readEvents(await context.events.load(requestId)));

test("a read returns each event, and for each sink whether it is delivered, pending or given up", async () => {
  const connector = await connectorWith(peers, [one, two], { settings: { EVENT_RETRY_HOURS: "1" } });
  const { requestId, shipmentId } = await connector.order();
  expect(await list(connector, requestId)).toMatchObject([
    {
      type: "fido-connector.request.started",
      time: connector.now(),
      data: { credential_request_id: requestId, shipment_id: shipmentId, state: "started" },
      deliveries: [
        { sink: 1, state: "pending" },
        { sink: 2, state: "pending" },
      ],
    },
  ]);
  two.fail({ kind: "refuse", status: 500, times: 2 });
  await send(connector);
  const [tried] = await list(connector, requestId);
  expect(tried?.deliveries).toEqual([
    { sink: 1, state: "delivered", delivered_at: connector.now() },
    {
      sink: 2,
      state: "pending",
      attempts: 1,
      next_attempt_at: expect.any(String),
      error_message: "event sink 2: send event unanswered (500)",
    },
  ]);
  connector.advance(hours(1));
  await send(connector);
  const [given] = await list(connector, requestId);
  expect(given?.deliveries[1]).toEqual({ sink: 2, state: "given_up" });
  expect(given?.id).toBe(idsAt(one)[0]);
});

test("a read shows why a sink does not get events, also in runs of other hosts, and that it gets them again", async () => {
  const connector = await connectorWith(peers, [one, two]);
  const sinks = async () => Promise.all(connector.context.sinks.map(sink => readSink(sink, connector.context)));
  await connector.order();
  two.fail({ kind: "refuse", status: 500, times: 2 });
  await send(connector);
  const error_message = "event sink 2: send event unanswered (500)";
  const first = { sink: 2, state: "active", failed_attempts: 1, failed_at: connector.now(), error_message };
  expect(await sinks()).toEqual([{ sink: 1, state: "active" }, first]);
  connector.advance(minutes(2));
  await send(connector.anotherInstance());
  const second = { ...first, failed_attempts: 2, failed_at: connector.now() };
  expect((await sinks())[1]).toEqual(second);
  connector.advance(minutes(5));
  expect(await send(connector)).toMatchObject({ delivered: 1 });
  expect((await sinks())[1]).toEqual({ ...second, failed_attempts: 0 });
  expect(eventsV2.shape.sinks.parse(await sinks())).toEqual(await sinks());
  // A run in which no call fails writes nothing about its sinks.
  const changeSinkState = () => Promise.reject(new Error("the state of a sink is written"));
  await connector.order();
  await sendEvents({ ...connector.context, events: { ...connector.context.events, changeSinkState } });
  expect(connector.events("event_sink_failed")).toEqual([]);
});

test("a read without a sink returns an empty list, and a read of an unknown request is 404", async () => {
  const connector = await connectorWith(peers, []);
  const { requestId } = await connector.order();
  const call = {
    method: "GET",
    params: {},
    headers: new Headers(),
    invocationId: "",
    body: new Uint8Array(),
  };
  const url = new URL("http://localhost/v2/credential-requests/id/events");
  const by = { call: { ...call, url }, caller: { kind: "api_token", application: "one" } as const, requestId: "" };
  const read = (id: string) =>
    listEvents.run({ params: { credential_request_id: id }, query: {}, body: undefined }, connector.context, by);
  const { result, total } = await connector.counted(() => read(requestId));
  expect(result).toMatchObject({ status: 200, body: { data: [] } });
  expect(total).toBe(1);
  await expect(read("none")).rejects.toThrow(Fault);
});

test("a restore sends the open events of the backup under their ids, and no delivered ones", async () => {
  const connector = await connectorWith(peers, [one]);
  const { requestId } = await connector.order();
  await send(connector);
  await connector.runShipments();
  const { request, keys } = await connector.load(requestId);
  const requestRows = connector.deployment.tables.table("credentialrequests");
  const rows = await Array.fromAsync(requestRows.query({ partitionKey: requestId }));
  await send(connector);
  expect(typesAt(one)).toEqual(["request.started", "key.shipped"]);

  const restored = await connectorWith(peers, [one]);
  const before = { request: request, keys: keys };
  const after = restoreRequest(before);
  const { requests, events } = restored.context;
  await requests.insert(await events.readBackup(rows)(before, after), after.keys);
  restored.advance(hours(1));
  await send(restored);
  expect(typesAt(one)).toEqual(["request.started", "key.shipped", "key.shipped"]);
  expect(new Set(idsAt(one)).size).toBe(2);
});

const maintain = ({ context, deployment }: TestConnector, name: string, input: object) =>
  runTask(connectorTasks, name, input, { ...context, deployment });

/** Everything that comes after the order, with the events. */
const finish = async (connector: TestConnector) => {
  for (let round = 0; round < 3; round++) {
    connector.advance(hours(1));
    await connector.runJobs();
    await send(connector);
  }
};

test("a backup has the events, and a request that is restored from it reports each occurrence under one id", async () => {
  const connector = await connectorWith(peers, [one]);
  await connector.deployment.blobs.createContainer(backupsContainer);
  const { requestId } = await connector.order();
  await send(connector);
  await connector.runShipments();
  const { backup } = await maintain(connector, "backUp", {});
  await finish(connector);
  const ids = idsAt(one);
  expect(typesAt(one)).toEqual(course);
  one.clearEvents();
  expect(await maintain(connector, "restore", { backup, replace: true })).toMatchObject({ requests: 1, open: 1 });
  await finish(connector);
  expect(idsAt(one)).toEqual(ids.slice(1));
  expect((await list(connector, requestId)).map(({ sequence }) => Number(sequence))).toEqual([1, 2, 3, 4, 5]);
});

test.each([
  ["sent to the pre-registration API", /PUT .*authenticator-requests/, onSiteBody],
  ["ordered at the delivery service", /POST .*shipments$/, orderBody],
])(
  "a request that is restored from a backup of the moment when it was %s reports its start, once and first",
  async (_, path, body) => {
    let backup: unknown;
    const fetchDuringBackUp: Fetch = async (url, init) => {
      if (backup === undefined && path.test(`${init?.method} ${new URL(String(url)).pathname}`))
        ({ backup } = await maintain(connector, "backUp", {}));
      return fetch(url, init);
    };
    const connector = await connectorWith(peers, [one, two], { fetch: fetchDuringBackUp });
    await connector.deployment.blobs.createContainer(backupsContainer);
    const { requestId } = await connector.order(body());
    if (body === onSiteBody) await peers.rfpr.enroll(idAt(requestId));
    await send(connector);
    const [started] = idsAt(one);
    await maintain(connector, "restore", { backup, replace: true });
    const { recorded, deliveries } = await connector.context.events.load(requestId);
    expect(deliveries.size).toBe(2 * recorded.length);
    await finish(connector);
    const expected = course.filter(type => type !== "key.shipped" || body === orderBody);
    for (const sink of [one, two]) {
      expect(typesAt(sink)).toEqual(["request.started", ...expected]);
      expect(idsAt(sink).slice(0, 2)).toEqual([started, started]);
    }
    expect((await list(connector, requestId)).map(({ type }) => type.replace("fido-connector.", ""))).toEqual(expected);
  },
);
