import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Credential } from "../../../../lib/connector/model/credential.ts";
import type { LoadedRequest } from "../../../../lib/connector/model/loaded-request.ts";
import type { CredentialRequest, Due } from "../../../../lib/connector/model/request.ts";
import type { SecurityKey } from "../../../../lib/connector/model/security-key.ts";
import { type DueEntry, dueRow } from "../../../../lib/connector/storage/due-index.table.ts";
import { indexWriter } from "../../../../lib/connector/storage/index-rows.table.ts";
import {
  requestColumns,
  schemaVersion,
  securityKeyColumns,
} from "../../../../lib/connector/storage/request-rows.table.ts";
import { connectorTables, requestStore } from "../../../../lib/connector/storage/requests.table.ts";
import { shipmentRecords } from "../../../../lib/connector/storage/shipment-records.table.ts";
import { openTables } from "../../../../lib/platform/azure/tables.ts";
import { createLog } from "../../../../lib/platform/log.ts";
import { hours, type Instant, plus } from "../../../../lib/platform/time.ts";
import { withTable } from "../../../support/connector/crashing.ts";
import { forAll } from "../../../support/for-all.ts";
import { freshStorage } from "../../../support/storage/fresh-storage.ts";
import { sampleOf } from "../../../support/storage/sample-of.ts";

const now = "2026-01-31T10:00:00.000Z";
const { connectionString } = freshStorage();
const shipmentsTable = "othershipments";
const tables = openTables({ connectionString, timeoutMs: 20_000 });
await Promise.all(connectorTables(shipmentsTable).map(name => tables.createTable(name)));
const index = indexWriter(tables, () => now);
const shipments = shipmentRecords(tables, shipmentsTable, async () => undefined);
const store = requestStore(tables, { shipmentsTable, now: () => now, log: createLog(() => {}) });

const least = (id: string): CredentialRequest => ({
  id,
  origin: "v2",
  state: "received",
  createdAt: now,
  recipient: { email: "a@example.com", firstName: "Ada", lastName: "", company: "", telephone: "1", externalId: "x" },
  emailsTo: ["a@example.com"],
  attempts: 0,
});

const due = { queue: "clean", at: now } as const;
const fullRequest = (id: string): CredentialRequest => ({
  ...(sampleOf(requestColumns.schema()) as CredentialRequest),
  ...{ id, due, trackDue: due, replaceDue: due },
});
const fullKey = (id: string): SecurityKey => ({
  ...(sampleOf(securityKeyColumns.schema()) as SecurityKey),
  ...{ id, due },
});
const [credential] = fullKey("s-01-001").credentials as readonly [Credential];

const leastKey = (id: string): SecurityKey => ({
  id,
  provisioning: "on_site",
  state: "processing",
  credentials: [{ idpId: "entra", userId: "u", state: "processing" }],
  mail: { state: "none", number: 0 },
});

let count = 0;
const newId = () => `request-${++count}`;
const values = (loaded: LoadedRequest | undefined) => loaded && { request: loaded.request, keys: loaded.keys };
const dueOf = async (id: string, queue: Due["queue"]) => {
  const found: string[] = [];
  for await (const { requestId, at } of store.due(queue)) if (requestId === id) found.push(at);
  return found;
};
const listed = async (id: string, state: "received" | "started") =>
  (await store.entries({ state }, { top: 100 })).filter(({ requestId }) => requestId === id).length;

describe("a credential request in Table storage", () => {
  test("comes back as it was inserted, keys in the request's order, with versions that a save may name", async () => {
    const id = newId();
    const keys = [
      fullKey("s-01-001"),
      { ...fullKey("s-02-001"), credentials: [credential, { ...credential, userId: "2" }] },
      leastKey("a-01"),
    ];
    const inserted = await store.insert(fullRequest(id), keys);
    const loaded = await store.load(id);
    expect(loaded?.request).toEqual(inserted.request);
    expect(values(loaded)).toEqual({ request: fullRequest(id), keys: [keys[2], keys[0], keys[1]] });
    for (const key of inserted.keys) expect(loaded?.keys).toContainEqual(key);
  });

  test("is found by its id alone", async () => {
    const id = newId();
    await store.insert(least(id), [leastKey("s-01-001")]);
    for (const other of [`${id}x`, id.toUpperCase(), "", "a/b", "#", "x".repeat(2000), "\u0000", "\ud800"])
      expect(await store.load(other)).toBeUndefined();
  });

  test("of an id that is there is the one that is there", async () => {
    const id = newId();
    const first = await store.insert(least(id), [leastKey("s-01-001")]);
    expect(await store.insert({ ...least(id), state: "failed" }, [leastKey("s-01-001")])).toEqual(first);
  });

  test("is saved whole: what is gone from a value is gone from its row", async () => {
    const id = newId();
    const inserted = await store.insert(fullRequest(id), [
      { ...fullKey("s-01-001"), credentials: [credential, credential] },
    ]);
    const saved = await store.save(inserted, { request: least(id), keys: [leastKey("s-01-001")] });
    expect(values(saved)).toEqual({ request: least(id), keys: [leastKey("s-01-001")] });
    expect(await store.load(id)).toEqual(saved);
  });

  test("is saved again and again by what the last save gave", async () => {
    const id = newId();
    let loaded: LoadedRequest | undefined = await store.insert(least(id), [leastKey("s-01-001"), leastKey("s-02-001")]);
    for (const attempts of [1, 2, 3]) {
      loaded = loaded && (await store.save(loaded, { keys: [{ ...leastKey("s-02-001"), serial: String(attempts) }] }));
      loaded = loaded && (await store.save(loaded, { request: { ...least(id), attempts } }));
    }
    expect(loaded).toBeDefined();
    expect(await store.load(id)).toEqual(loaded);
  });

  test.each([
    ["the request", { request: true, keys: [] }],
    ["a key", { request: false, keys: ["s-01-001"] }],
    ["the request and keys together", { request: true, keys: ["s-01-001", "s-02-001"] }],
  ])("is not saved where %s changed meanwhile: nothing of it", async (_, { request, keys }) => {
    const id = newId();
    const inserted = await store.insert(least(id), [leastKey("s-01-001"), leastKey("s-02-001")]);
    const other = await store.save(
      inserted,
      request ? { request: { ...least(id), attempts: 7 } } : { keys: [{ ...leastKey("s-01-001"), serial: "7" }] },
    );
    const changes = {
      ...(request && { request: { ...least(id), attempts: 8 } }),
      keys: keys.map(key => ({ ...leastKey(key), serial: "8" })),
    };
    expect(await store.save(inserted, changes)).toBeUndefined();
    expect(await store.load(id)).toEqual(other);
  });

  test("is not saved where it was removed, nor a key that is none of its own", async () => {
    const id = newId();
    const inserted = await store.insert(least(id), [leastKey("s-01-001")]);
    await expect(store.save(inserted, { keys: [leastKey("s-09-001")] })).rejects.toThrow("has no row key:s-09-001");
    await store.remove(inserted);
    expect(await store.load(id)).toBeUndefined();
    expect(await store.save(inserted, { request: least(id) })).toBeUndefined();
    await store.remove(inserted);
  });

  test("has its index rows also if its host is suspended after them, and a job removes them meanwhile", async () => {
    let time: Instant = now;
    const suspending = withTable("due", due => ({
      upsert: async row => {
        const etag = await due.upsert(row);
        if (time === now) {
          time = plus(now, hours(2));
          await due.remove(row.partitionKey, row.rowKey);
        }
        return etag;
      },
    }))(tables);
    const host = requestStore(suspending, { shipmentsTable, now: () => time, log: createLog(() => {}) });
    await host.insert({ ...least("suspended"), due: { queue: "shipment_key", at: now } }, []);
    const due: string[] = [];
    for await (const { requestId } of host.due("shipment_key")) due.push(requestId);
    expect(due).toEqual(["suspended"]);
  });

  test("is not saved with a shipment that is linked to another request", async () => {
    const [id, other] = [newId(), newId()];
    const shipped = (of: string) => ({ ...least(of), delivery: { shipment: { id: "taken" } } });
    await store.insert(shipped(other), [leastKey("s-01-001")]);
    const inserted = await store.insert(least(id), [leastKey("s-01-001")]);
    expect(await store.save(inserted, { request: shipped(id) })).toBeUndefined();
    expect(await store.load(id)).toEqual(inserted);
    expect(await store.requestOfShipment("taken")).toBe(other);
    // Two requests of a backup may have one shipment, and both are restored.
    const restored = await store.insert(shipped(newId()), [leastKey("s-01-001")]);
    expect(await store.load(restored.request.id)).toEqual(restored);
    expect(await store.requestOfShipment("taken")).toBe(other);
  });

  test("loses its former index rows, and keeps its new ones, in every save", async () => {
    const id = newId();
    const at = (second: number) => `2026-03-01T00:00:0${second}.000Z`;
    const poll = { queue: "poll", at: at(1) } as const;
    const inserted = await store.insert({ ...least(id), due: { queue: "reconcile", at: at(0) } }, [
      leastKey("s-01-001"),
    ]);
    const started = { ...least(id), state: "started", due: poll } as const;
    const key = { ...leastKey("s-01-001"), due: { queue: "key", at: at(2), notBefore: at(2) } } as const;
    const saved = await store.save(inserted, { request: started, keys: [key] });
    expect([await dueOf(id, "reconcile"), await dueOf(id, "poll"), await dueOf(id, "key")]).toEqual([
      [],
      [at(1)],
      [at(2)],
    ]);
    expect([await listed(id, "received"), await listed(id, "started")]).toEqual([0, 1]);
    if (saved !== undefined) await store.remove(saved);
    expect([await dueOf(id, "poll"), await dueOf(id, "key"), await listed(id, "started")]).toEqual([[], [], 0]);
  });

  test("has its row of due work written again where only notBefore changes", async () => {
    const id = newId();
    const due = { queue: "track", at: "2026-03-01T00:00:00.000Z" } as const;
    const inserted = await store.insert({ ...least(id), due }, []);
    const notBefore = "2026-03-01T00:00:01.000Z";
    await store.save(inserted, { request: { ...least(id), due: { ...due, notBefore } } });
    const entries = (await Array.fromAsync(store.due("track"))).filter(({ requestId }) => requestId === id);
    expect(entries).toMatchObject([{ notBefore }]);
  });

  test("keeps its index rows if a save loses against another writer", async () => {
    const id = newId();
    const due = { queue: "reconcile", at: now } as const;
    const inserted = await store.insert({ ...least(id), due }, []);
    const saved = await store.save(inserted, { request: { ...least(id), due, attempts: 1 } });
    expect(await store.save(inserted, { request: { ...least(id), state: "started" } })).toBeUndefined();
    expect([await dueOf(id, "reconcile"), await listed(id, "received")]).toEqual([[now], 1]);
    if (saved !== undefined) await store.remove(saved);
  });

  test("has its new state in the log once it is written, and not after a conflict", async () => {
    const lines: string[] = [];
    const log = createLog((_, line) => lines.push(line));
    const host = requestStore(tables, { shipmentsTable, now: () => now, log });
    const id = newId();
    const inserted = await host.insert(least(id), [leastKey("s-01-001")]);
    const saved = await host.save(inserted, { request: { ...least(id), attempts: 1 } });
    if (saved !== undefined) await host.save(saved, { request: { ...least(id), state: "started" } });
    expect(await host.save(inserted, { request: { ...least(id), state: "failed" } })).toBeUndefined();
    expect(lines.map(line => JSON.parse(line))).toEqual([
      { event: "request_state", credentialRequestId: id, state: "started", from: "received" },
    ]);
  });

  test("is saved if another writer has written the same, and not if it has written anything else", async () => {
    const id = newId();
    const inserted = await store.insert(least(id), [leastKey("s-01-001")]);
    const other = await store.save(inserted, { request: { ...least(id), attempts: 1 } });
    expect(await store.save(inserted, { request: { ...least(id), attempts: 1 } })).toEqual(other);
    const both = { request: { ...least(id), attempts: 1 }, keys: [leastKey("s-01-001")] };
    expect(await store.save(inserted, both)).toBeUndefined();
  });

  test("written by a later version is not misread", async () => {
    const id = newId();
    await tables.table("credentialrequests").insert({
      partitionKey: id,
      rowKey: "request",
      ...requestColumns.toColumns(least(id)),
      schema: schemaVersion + 1,
    });
    await expect(store.load(id)).rejects.toThrow(`schema version ${schemaVersion + 1}`);
  });

  const row = { partitionKey: "p", rowKey: "r", etag: "e" };
  const text = fc.string({ unit: "binary" });
  const anyCredential = fc
    .record({ userId: text, errorMessage: text, credentialId: text })
    .map(some => ({ ...credential, ...some }));
  test("is the same after its rows, for any texts", () => {
    forAll(
      fc.record({ name: text, serial: text, credentials: fc.array(anyCredential, { minLength: 1, maxLength: 20 }) }),
      some => {
        const key = { ...fullKey("s-01-001"), ...some };
        expect(securityKeyColumns.fromRow({ ...row, ...securityKeyColumns.toColumns(key) })).toEqual(key);
      },
      { numRuns: 50 },
    );
    forAll(text, errorMessage => {
      const request = { ...fullRequest("x"), errorMessage };
      expect(requestColumns.fromRow({ ...row, ...requestColumns.toColumns(request) })).toEqual(request);
    });
  });

  test("of the largest size fits into properties, rows and a transaction", () => {
    const large: Credential = {
      ...credential,
      userId: "ネ".repeat(255),
      idpState: "x".repeat(400),
      errorMessage: "ネ".repeat(500),
      refusal: { at: now, reason: "ネ".repeat(500) },
      responseKey: "x".repeat(1000),
      credentialId: "x".repeat(1400),
    };
    const keys = Array.from({ length: 5 }, (_, index) =>
      securityKeyColumns.toColumns({ ...fullKey(`s-0${index}-001`), credentials: Array<Credential>(20).fill(large) }),
    );
    for (const columns of keys) {
      const sizes = Object.entries(columns).map(([name, value]) => 2 * (name.length + String(value).length));
      expect(Math.max(...sizes)).toBeLessThan(65_536);
      expect(sizes.reduce((sum, size) => sum + size)).toBeLessThan(1_048_576);
      expect(Object.keys(columns).length).toBeLessThan(252);
    }
    expect(Buffer.byteLength(JSON.stringify(keys))).toBeLessThan(4_194_304);
  });
});

describe("the index of due work", () => {
  const all = (queue: Due["queue"], until?: string): Promise<readonly DueEntry[]> =>
    Array.fromAsync(store.due(queue, until));
  const at = (second: number) => `2026-02-01T00:00:0${second}.000Z`;

  test("is in order of time, up to and with a time, each queue for itself", async () => {
    await index.put([dueRow({ due: { queue: "poll", at: at(3) }, requestId: "three" })]);
    await index.put([dueRow({ due: { queue: "poll", at: at(1) }, requestId: "one" })]);
    await index.put([dueRow({ due: { queue: "poll", at: at(2) }, requestId: "two" })]);
    await index.put([dueRow({ due: { queue: "reconcile", at: at(1) }, requestId: "another" })]);
    const ids = async (until?: string) => (await all("poll", until)).map(({ requestId }) => requestId);
    expect(await ids()).toEqual(["one", "two", "three"]);
    expect(await ids(at(2))).toEqual(["one", "two"]);
    expect(await ids("2026-02-01T00:00:01.999Z")).toEqual(["one"]);
    expect(await ids("2026-02-01T00:00:00.999Z")).toEqual([]);
    const row = { queue: "reconcile", at: at(1), requestId: "another", writtenAt: now };
    expect(await all("reconcile")).toEqual([row]);
  });

  test("has the key, notBefore and the time of writing, and one row for each queue, time and key", async () => {
    const due = { queue: "purge", at: at(1) } as const;
    await index.put([dueRow({ due: { ...due, notBefore: at(5) }, requestId: "one", keyId: "s-01-001" })]);
    const [first] = await all("purge");
    const row = { requestId: "one", keyId: "s-01-001", notBefore: at(5), writtenAt: now };
    expect(first).toEqual({ ...due, ...row });
    await index.put([dueRow({ due, requestId: "one", keyId: "s-01-001" })]);
    await index.put([dueRow({ due, requestId: "one", keyId: "s-02-001" })]);
    expect((await all("purge")).map(({ keyId, notBefore }) => [keyId, notBefore])).toEqual([
      ["s-01-001", undefined],
      ["s-02-001", undefined],
    ]);
    await index.remove([dueRow({ due, requestId: "one", keyId: "s-01-001" })]);
    await index.remove([dueRow({ due, requestId: "one", keyId: "s-01-001" })]);
    expect((await all("purge")).map(({ keyId }) => keyId)).toEqual(["s-02-001"]);
  });
});

describe("the record of a shipment id", () => {
  test("belongs to the first request that it is linked to, and linking again changes nothing", async () => {
    expect(await shipments.link("U89bvfKKCtQfhnqaFBrAZW", { requestId: "one" })).toBe(true);
    expect(await shipments.link("U89bvfKKCtQfhnqaFBrAZW", { requestId: "one" })).toBe(true);
    expect(await shipments.link("U89bvfKKCtQfhnqaFBrAZW", { requestId: "two" })).toBe(false);
    expect(await store.requestOfShipment("U89bvfKKCtQfhnqaFBrAZW")).toBe("one");
    expect(await store.requestOfShipment("u89bvfKKCtQfhnqaFBrAZW")).toBeUndefined();
  });

  /** A request that a crash left with the link of a shipment that it had rejected. */
  async function leftLinked() {
    const [id, rejected, others] = [newId(), `rejected-${count}`, `others-${count}`];
    const delivery = { rejectedShipmentIds: [rejected, others] };
    const loaded = await store.insert({ ...least(id), delivery }, [leastKey("s-01-001")]);
    await shipments.link(rejected, { requestId: id });
    await shipments.link(others, { requestId: "its-own" });
    return { id, loaded, owners: () => Promise.all([rejected, others].map(store.requestOfShipment)) };
  }

  test("is unlinked from a request that rejected it when the due row is removed that a crash left", async () => {
    const { id, loaded, owners } = await leftLinked();
    const due = { queue: "poll", at: "2026-04-01T00:00:00.000Z" } as const;
    await index.put([dueRow({ due, requestId: id })]);
    await store.removeStale({ ...due, requestId: id, writtenAt: now }, loaded);
    expect(await owners()).toEqual([undefined, "its-own"]);
    for await (const { requestId } of store.due("poll")) expect(requestId).not.toBe(id);
  });

  test("stays linked to a request that has it again although it rejected it", async () => {
    const { id, loaded, owners } = await leftLinked();
    const { rejectedShipmentIds = [] } = loaded.request.delivery ?? {};
    const [shipmentId = ""] = rejectedShipmentIds;
    const saved = await store.save(loaded, {
      request: { ...least(id), delivery: { rejectedShipmentIds, shipment: { id: shipmentId } } },
    });
    const due = { queue: "poll", at: "2026-04-01T00:00:00.000Z" } as const;
    await store.removeStale({ ...due, requestId: id, writtenAt: now }, saved);
    expect(await owners()).toEqual([id, "its-own"]);
  });

  test("is unlinked from a request that rejected it when that request is removed", async () => {
    const { loaded, owners } = await leftLinked();
    await store.remove(loaded);
    expect(await owners()).toEqual([undefined, "its-own"]);
  });

  test("is linked to one of many requests that link it at once", async () => {
    const links = await Promise.all(
      Array.from({ length: 8 }, (_, n) => shipments.link("contested", { requestId: `r${n}` })),
    );
    expect(links.filter(Boolean)).toHaveLength(1);
  });

  test("is unlinked only from its own request", async () => {
    await shipments.link("mine", { requestId: "one" });
    await shipments.unlink("mine", "two");
    expect(await store.requestOfShipment("mine")).toBe("one");
    await shipments.unlink("mine", "one");
    await shipments.unlink("mine", "one");
    expect(await store.requestOfShipment("mine")).toBeUndefined();
    expect(await shipments.link("mine", { requestId: "two" })).toBe(true);
  });

  test.each(["a.b~c", "a/b", "#?\\", "é🔑", "it's", "x".repeat(300), ""])(
    "is found by any id: %j",
    async shipmentId => {
      expect(await shipments.link(shipmentId, { requestId: "one" })).toBe(true);
      expect(await store.requestOfShipment(shipmentId)).toBe("one");
      expect(await shipments.link(shipmentId, { requestId: "two" })).toBe(false);
    },
  );
});
