import { describe, expect, test } from "vitest";
import { days, hours, minutes, plus } from "../../../../lib/platform/time.ts";
import { changedKeys, withPort } from "../../../support/connector/changed-peers.ts";
import { failingTable } from "../../../support/connector/crashing.ts";
import {
  orderBody,
  peersOfFile,
  type TestConnector,
  testConnector,
  withoutPins,
} from "../../../support/connector/test-connector.ts";
import { storedText } from "../../../support/storage/stored-text.ts";
import type { Body } from "../api/bodies.ts";

const peers = await peersOfFile();

/** A request that went all the way. */
async function completed(connector: TestConnector, body: Body = orderBody([1, 2])) {
  const { requestId, shipmentId = "" } = await connector.orderAndRun(body);
  expect(await connector.read(requestId)).toMatchObject({ state: "complete" });
  return { requestId, shipmentId };
}

/** What storage knows of a request, but for the description of the local system. */
const traces = async ({ storage }: TestConnector, requestId: string) =>
  (await storedText(storage)).filter(text => text.includes(requestId));

describe("clean-up", () => {
  test("deletes nothing by 0 days", async () => {
    const connector = await testConnector(peers);
    const { requestId } = await completed(connector);
    connector.advance(days(10));
    expect(await connector.runCleanUp(0)).toEqual({ deleted: 0, archived: 0, purged: 0, claims: 0, deferred: 0 });
    expect(await connector.read(requestId)).toMatchObject({ state: "complete" });
  });

  test("deletes what has been terminal for that many days, with its sealed keys, responses, shipment id and index rows", async () => {
    const connector = await testConnector(peers);
    const { requestId, shipmentId } = await completed(connector);
    expect(await traces(connector, requestId)).not.toEqual([]);
    connector.advance(days(7) - 1);
    expect(await connector.runCleanUp(7)).toMatchObject({ deleted: 0 });
    expect(await connector.read(requestId)).toMatchObject({ state: "complete" });
    connector.advance(1);
    expect(await connector.runCleanUp(7)).toMatchObject({ deleted: 1, deferred: 0 });
    expect(await connector.context.requests.load(requestId)).toBeUndefined();
    expect(await connector.context.requests.requestOfShipment(shipmentId)).toBeUndefined();
    expect(await traces(connector, requestId)).toEqual([]);
  });

  test("counts from the end of the request, not from its beginning, and keeps what is open", async () => {
    const connector = await testConnector(peers);
    const open = await connector.order();
    await peers.delivery.control(open.shipmentId ?? "", { state: 101 });
    connector.advance(days(3));
    const { requestId } = await completed(connector);
    connector.advance(days(6));
    expect(await connector.runCleanUp(7)).toMatchObject({ deleted: 0 });
    connector.advance(days(1));
    expect(await connector.runCleanUp(7)).toMatchObject({ deleted: 1 });
    expect(await connector.context.requests.load(requestId)).toBeUndefined();
    expect(await connector.read(open.requestId)).toMatchObject({ state: "started" });
  });

  test("keeps a request with a mail due until that is sent or has failed", async () => {
    const connector = await testConnector(peers);
    const { requestId } = await connector.orderAndPoll();
    peers.mail.fail({ kind: "refuse", method: "POST", status: 400, times: 1000 });
    await connector.runCredentials();
    connector.advance(days(10));
    expect(await connector.runCleanUp(1)).toMatchObject({ deleted: 0 });
    expect(await connector.read(requestId)).toMatchObject({ state: "complete" });
    connector.advance(days(5));
    await connector.runCredentials();
    expect((await connector.keyRow(requestId)).mail.state).toBe("given_up");
    expect(await connector.runCleanUp(1)).toMatchObject({ deleted: 1 });
    expect(await traces(connector, requestId)).toEqual([]);
  });

  test("removes rows last and the index row after them, so that one who died on the way is found again", async () => {
    const connector = await testConnector(peers);
    const { requestId } = await completed(connector);
    connector.advance(days(2));
    await connector.anotherInstance({ tables: failingTable("credentialrequests", "transact") }).runCleanUp(1);
    expect(await connector.context.requests.load(requestId)).toBeDefined();
    expect(await connector.queue("clean")).toHaveLength(1);
    const { responses = "" } = await connector.keyRow(requestId);
    expect(await connector.context.responses.get(responses)).toBeUndefined();

    await connector.anotherInstance({ tables: failingTable("due", "remove") }).runCleanUp(1);
    expect(await connector.context.requests.load(requestId)).toBeUndefined();
    expect(await connector.queue("clean")).toHaveLength(1);
    connector.advance(days(14));
    await connector.runCleanUp(1);
    await connector.runShipments("timer");
    expect(await traces(connector, requestId)).toEqual([]);
  });

  test("starts no new request when its time is over", async () => {
    const connector = await testConnector(peers, {
      limits: { callsAtOnce: 1 },
      ports: withPort("requests", ({ remove }, clock) => ({
        remove: loaded => {
          clock.advance(minutes(5));
          return remove(loaded);
        },
      })),
    });
    for (const _ of [1, 2, 3]) await completed(connector, orderBody());
    connector.advance(days(2));
    expect(await connector.runCleanUp(1)).toMatchObject({ deleted: 2, deferred: 1 });
    expect(await connector.runCleanUp(1)).toMatchObject({ deleted: 1, deferred: 0 });
  });
});

describe("the copy of a PIN response", () => {
  test("is kept for RFPR_RETRY_NUMBER_DAYS after the first mail, then removed, independent of the days of clean-up", async () => {
    const connector = await testConnector(peers);
    const { requestId } = await completed(connector, orderBody([1, 1]));
    const { responses = "" } = await connector.keyRow(requestId);
    connector.advance(days(14) - 1);
    expect(await connector.runCleanUp(0)).toMatchObject({ purged: 0 });
    expect(await connector.context.responses.get(responses)).toMatchObject({ pinResponse: expect.any(String) });
    connector.advance(1);
    expect(await connector.runCleanUp(0)).toMatchObject({ purged: 2 });
    expect(await connector.context.responses.get(responses)).toBeUndefined();
    expect((await connector.keyRow(requestId)).responses).toBeUndefined();
    expect(await connector.read(requestId)).toMatchObject({ state: "complete" });
    expect(await connector.queue("purge")).toEqual([]);
    expect(await connector.runCleanUp(0)).toEqual({ deleted: 0, archived: 0, purged: 0, claims: 0, deferred: 0 });
  });

  test("stays while a credential of its key is open", async () => {
    const connector = await testConnector(peers);
    const body = orderBody([2]);
    const { requestId } = await connector.orderAndPoll(body);
    peers.entra.fail({ kind: "refuse", method: "POST", path: "fido2Methods$", status: 500, times: 1000 });
    await connector.runCredentials();
    connector.advance(hours(24 * 13));
    await connector.runCleanUp(0);
    expect((await connector.keyRow(requestId)).responses).toBeDefined();
  });

  test("is kept from the mail on, not from the end of the key", async () => {
    const connector = await testConnector(peers, { settings: { IDPA_FIDO_API_CHALLENGE_TIMEOUT_MINUTES: "43200" } });
    const body = orderBody([2]);
    const { requestId } = await connector.orderAndPoll(body);
    peers.entra.fail({ kind: "refuse", status: 500, method: "POST", path: "fido2Methods$" });
    await connector.runCredentials();
    const mailed = connector.now();
    connector.advance(days(1));
    await connector.runCredentials();
    expect(await connector.read(requestId)).toMatchObject({ state: "complete" });
    expect(await connector.queue("purge")).toMatchObject([{ at: plus(mailed, days(14)) }]);
  });

  test("of a key without a mail goes, too", async () => {
    const connector = await testConnector(peers);
    const { requestId } = await completed(connector, withoutPins(orderBody()));
    connector.advance(days(14));
    expect(await connector.runCleanUp(0)).toMatchObject({ purged: 1 });
    expect((await connector.keyRow(requestId)).responses).toBeUndefined();
  });

  test("of a key whose other credentials never came goes with their end", async () => {
    const connector = await testConnector(peers, {
      settings: { IDPA_FIDO_API_CHALLENGE_TIMEOUT_MINUTES: "1440", DELIVERY_PRODUCTION_DAYS: "0" },
      ...changedKeys(key => ({ ...key, fido_credential_responses: key.fido_credential_responses.slice(0, 1) })),
    });
    const { requestId } = await connector.orderAndRun(orderBody([2]));
    connector.advance(days(1) + minutes(1));
    await connector.runShipments();
    expect(await connector.read(requestId)).toMatchObject({ state: "partial" });
    connector.advance(days(14));
    expect(await connector.runCleanUp(0)).toMatchObject({ purged: 1 });
    expect((await connector.keyRow(requestId)).responses).toBeUndefined();
  });
});
