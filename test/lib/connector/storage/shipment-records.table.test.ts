import { describe, expect, test } from "vitest";
import { getShipment } from "../../../../functions/connector/version-1.ts";
import { shipmentRecords } from "../../../../lib/connector/storage/shipment-records.table.ts";
import { hours, minutes } from "../../../../lib/platform/time.ts";
import { failingTable } from "../../../support/connector/crashing.ts";
import { peersOfFile, type TestConnector, testConnector } from "../../../support/connector/test-connector.ts";

const peers = await peersOfFile();

const rowOf = (connector: TestConnector, shipmentId: string) =>
  connector.deployment.tables.table("fprshipments").get(shipmentId, "shipment");

/** What the record says, by the names of version 1's wire. */
async function recordOf(connector: TestConnector, shipmentId: string) {
  const row = await rowOf(connector, shipmentId);
  const kind = row?.errorMessage === undefined ? undefined : "GENERAL";
  return { error_kind: kind, error_message: row?.errorMessage };
}

/** What version 1 returns. */
async function readOf({ context }: TestConnector, shipmentId: string) {
  const url = new URL(`http://localhost/v1/fpr/shipments/${shipmentId}`);
  const call = {
    method: "GET",
    url,
    params: {},
    headers: new Headers(),
    invocationId: "",
    body: new Uint8Array(),
  };
  const by = { call, caller: { kind: "api_token", application: "" }, requestId: "" } as const;
  const reply = await getShipment.run(
    { params: { shipment_id: shipmentId }, query: {}, body: undefined },
    context,
    by as Parameters<typeof getShipment.run>[2],
  );
  const { error_kind, error_message } = reply.body as Record<string, unknown>;
  return { error_kind, error_message };
}

const general = { error_kind: "GENERAL", error_message: expect.any(String) };
const none = { error_kind: undefined, error_message: undefined };

describe("the record in the shipments table (specification section 2)", () => {
  test("has the processing error that version 1 returns, from the order to the end", async () => {
    const connector = await testConnector(peers);
    const { shipmentId = "" } = await connector.order();
    const both = async () => {
      const record = await recordOf(connector, shipmentId);
      expect(await readOf(connector, shipmentId)).toEqual(record);
      return record;
    };
    expect(await both()).toEqual(none);

    await peers.delivery.control(shipmentId, { state: 99 });
    await connector.runShipments();
    expect(await both()).toEqual(general);

    await peers.delivery.control(shipmentId, { state: 104 });
    connector.advance(hours(2));
    await connector.runShipments();
    expect(await both()).toEqual(none);

    peers.mail.fail({ kind: "refuse", status: 400, method: "POST", times: 9 });
    await connector.runCredentials();
    expect(await both()).toEqual(general);

    peers.mail.clearFaults();
    connector.advance(hours(7));
    await connector.runCredentials();
    expect(await both()).toEqual(none);
  });

  test("is written as soon as the request fails at its IdP", async () => {
    const connector = await testConnector(peers);
    const { shipmentId = "" } = await connector.orderAndPoll();
    peers.entra.fail({ kind: "refuse", status: 400, method: "POST", path: "fido2Methods", times: 9 });
    await connector.runCredentials();
    expect(await recordOf(connector, shipmentId)).toEqual(general);
  });

  test("goes with its request", async () => {
    const connector = await testConnector(peers);
    const { shipmentId = "" } = await connector.orderAndRun();
    connector.advance(hours(48));
    expect(await connector.runCleanUp(1)).toMatchObject({ deleted: 1 });
    expect(await rowOf(connector, shipmentId)).toBeUndefined();
  });
});

describe("after a crash between the request's rows and the record", () => {
  /** The order, and a job that dies as it begins to write the record of an error. */
  async function crashed() {
    const connector = await testConnector(peers);
    const { shipmentId = "" } = await connector.order();
    await peers.delivery.control(shipmentId, { state: 99 });
    const dying = connector.anotherInstance({
      tables: tables => failingTable("due", "remove")(failingTable("fprshipments", "replace")(tables)),
    });
    connector.advance(minutes(1));
    await dying.runShipments();
    expect(dying.events("index_row_left").length).toBeGreaterThan(0);
    expect(await recordOf(connector, shipmentId)).toEqual(none);
    return { connector, shipmentId };
  }

  test("version 1 returns what the rows say, and writes the record", async () => {
    const { connector, shipmentId } = await crashed();
    const read = await readOf(connector, shipmentId);
    expect(read).toEqual(general);
    expect(await recordOf(connector, shipmentId)).toEqual(read);
  });

  test("the job that sweeps the old row of due work writes the record", async () => {
    const { connector, shipmentId } = await crashed();
    connector.advance(minutes(11));
    await connector.runShipments();
    expect(await recordOf(connector, shipmentId)).toEqual(general);
  });
});

describe("two writers of one record", () => {
  test("the one that read older rows loses, and writes nothing old", async () => {
    const connector = await testConnector(peers);
    const { requestId, shipmentId = "" } = await connector.order();
    const old = await connector.load(requestId);
    await peers.delivery.control(shipmentId, { state: 99 });
    let reads = 0;
    const load = async (id: string) => {
      const loaded = await connector.context.requests.load(id);
      // Between this read and its write, the job writes the rows and the record.
      if (reads++ === 0) {
        await connector.runShipments();
        expect(await recordOf(connector, shipmentId)).toEqual(general);
        const request = { ...old.request, errorMessage: "old" };
        return loaded && { ...loaded, request };
      }
      return loaded;
    };
    await shipmentRecords(connector.deployment.tables, "fprshipments", load).update(shipmentId, requestId);
    expect(await recordOf(connector, shipmentId)).toEqual(await readOf(connector, shipmentId));
    expect((await recordOf(connector, shipmentId)).error_message).not.toBe("old");
  });

  test("a record whose error is written while it is unlinked is removed nevertheless", async () => {
    const connector = await testConnector(peers);
    const { requestId, shipmentId = "" } = await connector.order();
    const { requests } = connector.context;
    const records = shipmentRecords(connector.deployment.tables, "fprshipments", requests.load);
    const table = connector.deployment.tables.table("fprshipments");
    const row = await table.get(shipmentId, "shipment");
    await Promise.all([
      records.unlink(shipmentId, requestId),
      table.merge({ partitionKey: shipmentId, rowKey: "shipment", errorMessage: "new" }, row?.etag ?? ""),
    ]);
    expect(await table.get(shipmentId, "shipment")).toBeUndefined();
  });
});
