import { randomBytes } from "node:crypto";
import { describe, expect, test } from "vitest";
import { claimColumns, claimStore, claimsTable } from "../../../../lib/connector/create/claims.table.ts";
import { deliveryColumns, dueEventColumns, eventColumns } from "../../../../lib/connector/events/event-rows.table.ts";
import { eventStore } from "../../../../lib/connector/events/events.table.ts";
import { sinkColumns } from "../../../../lib/connector/events/sink-state.table.ts";
import type { Claim } from "../../../../lib/connector/model/idempotency.ts";
import type { CredentialRequest } from "../../../../lib/connector/model/request.ts";
import type { SecurityKey } from "../../../../lib/connector/model/security-key.ts";
import { dueColumns } from "../../../../lib/connector/storage/due-index.table.ts";
import { listColumns } from "../../../../lib/connector/storage/lists.table.ts";
import { requestColumns, securityKeyColumns } from "../../../../lib/connector/storage/request-rows.table.ts";
import { connectorTables, requestStore } from "../../../../lib/connector/storage/requests.table.ts";
import { connectorBackedUp, restoreConnector } from "../../../../lib/connector/storage/restore.table.ts";
import { shipmentColumns } from "../../../../lib/connector/storage/shipment-records.table.ts";
import { openBlobs } from "../../../../lib/platform/azure/blobs.ts";
import { openTables } from "../../../../lib/platform/azure/tables.ts";
import { createLog } from "../../../../lib/platform/log.ts";
import { backUp } from "../../../../lib/platform/maintenance/back-up.ts";
import { backupsContainer, openBackup } from "../../../../lib/platform/maintenance/read-backup.ts";
import { days } from "../../../../lib/platform/time.ts";
import { type FreshStorage, freshStorage, storageTimeoutMs } from "../../../support/storage/fresh-storage.ts";
import { sampleOf } from "../../../support/storage/sample-of.ts";

const shipmentsTable = "fprshipments";
const now = () => "2031-01-01T12:34:56.789Z";
const log = createLog(() => {});

/** The stores of a connector on a storage of its own. */
async function stores({ connectionString }: FreshStorage) {
  const tables = openTables({ connectionString, timeoutMs: storageTimeoutMs });
  const blobs = openBlobs({ connectionString, timeoutMs: storageTimeoutMs });
  await Promise.all(connectorTables(shipmentsTable).map(name => tables.createTable(name)));
  await Promise.all([...connectorBackedUp.containers, backupsContainer].map(name => blobs.createContainer(name)));
  const events = eventStore(tables, { sinks: [], now, log });
  return {
    tables,
    blobs,
    events,
    claims: claimStore(tables),
    requests: requestStore(tables, { shipmentsTable, events, now, log }),
  };
}
const { tables, blobs, events, claims, requests } = await stores(freshStorage());

const rows = {
  request: [requestColumns, []],
  "security key": [securityKeyColumns, []],
  due: [dueColumns, ["queue", "at"]],
  list: [listColumns, []],
  shipment: [shipmentColumns, []],
  claim: [claimColumns, []],
  event: [eventColumns, []],
  delivery: [deliveryColumns, []],
  "due event": [dueEventColumns, ["sink", "at"]],
  "event sink": [sinkColumns, []],
} as const;

describe("every column of the schema of a row", () => {
  test.each(Object.entries(rows))("comes back as it was written: %s", async (name, [columns, keyed]) => {
    const value = sampleOf(columns.schema()) as Record<string, unknown>;
    const keys = { partitionKey: "sample", rowKey: name.replaceAll(" ", "-") };
    const convert = columns as unknown as {
      toColumns(value: object): Record<string, string>;
      fromRow(row: object, keys: object): unknown;
    };
    const table = tables.table(claimsTable);
    await table.upsert({ ...keys, ...convert.toColumns(value) });
    const row = await table.get(keys.partitionKey, keys.rowKey);
    expect(convert.fromRow(row ?? {}, Object.fromEntries(keyed.map(key => [key, value[key]])))).toEqual(value);
    await table.remove(keys.partitionKey, keys.rowKey);
  });

  test("of requests, security keys, events and claims is kept by a save, a backup and a restore", async () => {
    const request = { ...(sampleOf(requestColumns.schema()) as CredentialRequest), id: "sample" };
    const key = { ...(sampleOf(securityKeyColumns.schema()) as SecurityKey), id: "s-01-001" };
    const inserted = await requests.insert({ ...request, state: "started" }, [{ ...key, state: "failed" }]);
    const saved = await requests.save(inserted, { request, keys: [key] });
    expect(await requests.load("sample")).toEqual(saved);
    const claim = sampleOf(claimColumns.schema()) as Claim;
    await claims.insert(claim);
    const recorded = { rowKey: "event:000001", ...eventColumns.toColumns(sampleOf(eventColumns.schema()) as never) };
    const delivery = {
      rowKey: "delivery:1",
      ...deliveryColumns.toColumns(sampleOf(deliveryColumns.schema()) as never),
    };
    await tables.table("credentialrequests").transact("sample", [{ insert: recorded }, { insert: delivery }]);

    const { backup: id } = await backUp(connectorBackedUp, {
      tables,
      blobs,
      now,
      random: bytes => randomBytes(bytes),
      log,
      keepMs: days(30),
    });
    const backup = await openBackup(blobs, connectorBackedUp, id);
    const there = await stores(freshStorage());
    await restoreConnector(backup, { ...there, log }, there);
    // What a run holds does not survive: no lease, and a call that a run may have made is in doubt.
    const restored = await there.requests.load("sample");
    expect(Object.keys(restored?.request ?? {}).sort()).toEqual(
      Object.keys(request)
        .filter(name => name !== "lease")
        .sort(),
    );
    expect(Object.keys(restored?.keys[0] ?? {}).sort()).toEqual(
      Object.keys(key)
        .filter(name => name !== "lease")
        .sort(),
    );
    expect(restored?.keys[0]?.credentials).toEqual(key.credentials);
    expect((await there.claims.find(claim.scope))?.value).toEqual(claim);
    const eventsBefore = await events.load("sample");
    const eventsAfter = await there.events.load("sample");
    expect(eventsAfter.recorded).toEqual(eventsBefore.recorded);
    const { lease: _, retry: __, ...kept } = eventsBefore.deliveries.get(1)?.value ?? {};
    expect(eventsAfter.deliveries.get(1)?.value).toEqual(kept);
  });
});
