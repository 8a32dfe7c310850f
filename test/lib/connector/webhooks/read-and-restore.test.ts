import { expect, test } from "vitest";
import { connectorTasks } from "../../../../functions/connector/start/maintenance-tasks.ts";
import { listEvents } from "../../../../functions/connector/v2/list-events.ts";
import { backupsContainer } from "../../../../lib/azure/maintenance/backup-files.ts";
import { eventsV2, readEvents } from "../../../../lib/connector/api/v2/read-events.ts";
import { restoreRequest } from "../../../../lib/connector/recovery/restore-request.ts";
import { Fault } from "../../../../lib/fault.ts";
import { hours } from "../../../../lib/time.ts";
import { connectorWith, idsAt, send, sinkOfFile, typesAt } from "../../../support/connector/event-sinks.ts";
import { peersOfFile, type TestConnector } from "../../../support/connector/test-connector.ts";

const peers = await peersOfFile();
const one = await sinkOfFile(peers.vault, 1);
const two = await sinkOfFile(peers.vault, 2);

const course = ["request.started", "key.shipped", "credential.active", "request.ended", "pin_mail.sent"];

const list = async ({ context }: TestConnector, requestId: string) =>
  eventsV2.parse(readEvents(requestId, await context.events.load(requestId))).data;

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

test("a read without a sink returns an empty list, and a read of an unknown request is 404", async () => {
  const connector = await connectorWith(peers, []);
  const { requestId } = await connector.order();
  const call = {
    method: "GET",
    params: {},
    headers: new Headers(),
    invocationId: "",
    body: async () => new Uint8Array(),
  };
  const url = new URL("http://localhost/v2/credential-requests/id/events");
  const by = { call: { ...call, url }, caller: { kind: "api_token", application: "one" } as const, requestId: "" };
  const read = (id: string) =>
    listEvents.run({ params: { credential_request_id: id }, query: {}, body: undefined }, connector.context, by);
  const { result, total } = await connector.counted(() => read(requestId));
  expect(result.reply).toMatchObject({ status: 200, body: { data: [] } });
  expect(total).toBe(1);
  await expect(read("none")).rejects.toThrow(Fault);
});

test("a restore sends the open events of the backup under their ids, and no delivered ones", async () => {
  const connector = await connectorWith(peers, [one]);
  const { requestId } = await connector.order();
  await send(connector);
  await connector.runShipments();
  const { request, keys } = await connector.load(requestId);
  const { recorded, deliveries } = await connector.context.events.load(requestId);
  await send(connector);
  expect(typesAt(one)).toEqual(["request.started", "key.shipped"]);

  const restored = await connectorWith(peers, [one]);
  const item = restoreRequest({ request: request.value, keys: keys.map(({ value }) => value) });
  await restored.context.requests.insert(item.request, item.keys);
  const values = new Map([...deliveries].map(([sink, { value }]) => [sink, value]));
  await restored.context.events.restore(requestId, { recorded, deliveries: values });
  restored.advance(hours(1));
  await send(restored);
  expect(typesAt(one)).toEqual(["request.started", "key.shipped", "key.shipped"]);
  expect(new Set(idsAt(one)).size).toBe(2);
});

test("a backup has the events, and a request that is restored from it reports each occurrence under one id", async () => {
  const connector = await connectorWith(peers, [one]);
  await connector.deployment.blobs.createContainer(backupsContainer);
  const run = async (name: string, input: object) => {
    const { input: schema, run: work } = connectorTasks[name] ?? {};
    const context = { ...connector.context, deployment: connector.deployment };
    return (await work?.(schema?.parse(input), context)) ?? {};
  };
  const finish = async () => {
    for (let round = 0; round < 3; round++) {
      connector.advance(hours(1));
      await connector.runShipments();
      await connector.runCredentials();
      await send(connector);
    }
  };
  const { requestId } = await connector.order();
  await send(connector);
  await connector.runShipments();
  const { backup } = await run("backUp", {});
  await finish();
  const ids = idsAt(one);
  expect(typesAt(one)).toEqual(course);
  one.clearEvents();
  expect(await run("restore", { backup, replace: true })).toMatchObject({ requests: 1, open: 1 });
  await finish();
  expect(idsAt(one)).toEqual(ids.slice(1));
  expect((await list(connector, requestId)).map(({ sequence }) => Number(sequence))).toEqual([1, 2, 3, 4, 5]);
});
