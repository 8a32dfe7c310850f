import { describe, expect, test } from "vitest";
import type { DueEvents } from "../../../../lib/connector/events/event-rows.table.ts";
import { eventStore } from "../../../../lib/connector/events/events.table.ts";
import type { LoadedRequest } from "../../../../lib/connector/model/loaded-request.ts";
import type { CredentialRequest } from "../../../../lib/connector/model/request.ts";
import { personList } from "../../../../lib/connector/model/request-lists.ts";
import type { SecurityKey } from "../../../../lib/connector/model/security-key.ts";
import { connectorTables, requestStore } from "../../../../lib/connector/storage/requests.table.ts";
import { shipmentRecords } from "../../../../lib/connector/storage/shipment-records.table.ts";
import { openTables, type Tables } from "../../../../lib/platform/azure/tables.ts";
import { createLog } from "../../../../lib/platform/log.ts";
import { failingTable, withTable } from "../../../support/connector/crashing.ts";
import { freshStorage } from "../../../support/storage/fresh-storage.ts";

const now = "2026-01-31T10:00:00.000Z";
const { connectionString } = freshStorage();
const shipmentsTable = "fprshipments";
const tables = openTables({ connectionString, timeoutMs: 20_000 });
await Promise.all(connectorTables(shipmentsTable).map(name => tables.createTable(name)));
const storeOn = (own: Tables) => {
  const options = { now: () => now, log: createLog(() => {}) };
  const recorded = eventStore(own, { sinks: [{ number: 1 }], ...options });
  return { requests: requestStore(own, { shipmentsTable, events: recorded, ...options }), events: recorded };
};
const { requests, events } = storeOn(tables);

const keyId = "s-01-001";
const received = (id: string): CredentialRequest => ({
  id,
  origin: "v2",
  state: "received",
  createdAt: now,
  recipient: { email: "a@example.com", firstName: "Ada", lastName: "", company: "", telephone: "1", externalId: "x" },
  emailsTo: ["a@example.com"],
  attempts: 0,
});
const key: SecurityKey = {
  id: keyId,
  provisioning: "shipped",
  state: "processing",
  credentials: [{ idpId: "entra", userId: "u", state: "processing" }],
  mail: { state: "none", number: 0 },
};

let count = 0;
const insert = () => requests.insert(received(`request-${++count}`), [key]);
const idOf = (loaded: LoadedRequest) => loaded.request.id;
/** Starts the request, which records an event. */
const start = (loaded: LoadedRequest, store = requests) =>
  store.save(loaded, { request: { ...loaded.request, state: "started" } });

describe("the due row of an event whose writer stopped before the event was recorded", () => {
  const rowsOf = async (id: string): Promise<readonly DueEvents[]> =>
    (await events.dueUntil(1, now, 100)).filter(({ requestId }) => requestId === id);

  async function withDueRowOnly() {
    const loaded = await insert();
    const stopping = storeOn(failingTable("credentialrequests", "transact")(tables));
    await expect(start(loaded, stopping.requests)).rejects.toThrow("storage is away");
    const [entry, ...others] = await rowsOf(idOf(loaded));
    if (entry === undefined) throw new Error("no due row was written");
    expect(others).toEqual([]);
    return { loaded, entry };
  }

  test("is removed, and the writer cannot record the event any more", async () => {
    const { loaded, entry } = await withDueRowOnly();
    await events.removeStale(entry);
    expect(await rowsOf(idOf(loaded))).toEqual([]);
    expect(await start(loaded)).toBeUndefined();
  });

  test("is removed after its request", async () => {
    const { loaded, entry } = await withDueRowOnly();
    await requests.remove(loaded);
    await events.removeStale(entry);
    expect(await rowsOf(idOf(loaded))).toEqual([]);
  });

  test("stays if the event was recorded after the row was read", async () => {
    const { loaded, entry } = await withDueRowOnly();
    expect(await start(loaded)).toBeDefined();
    await events.removeStale(entry);
    expect(await rowsOf(idOf(loaded))).toHaveLength(1);
  });

  test("stays if the event is recorded right before the removal", async () => {
    const { loaded, entry } = await withDueRowOnly();
    const racing = withTable("credentialrequests", table => ({
      replace: async (...row) => {
        expect(await start(loaded)).toBeDefined();
        return table.replace(...row);
      },
    }));
    await storeOn(racing(tables)).events.removeStale(entry);
    expect(await rowsOf(idOf(loaded))).toHaveLength(1);
  });
});

describe("an index row that its request does not name", () => {
  const due = { queue: "poll", at: now } as const;
  const listed = { list: { state: "started" }, createdAt: now } as const;
  const kinds = {
    "of due work of a request": (requestId: string) => ({ ...due, requestId, writtenAt: now }),
    "of due work of a security key": (requestId: string) => ({ ...due, requestId, keyId, writtenAt: now }),
    "of a list": (requestId: string) => ({ ...listed, requestId, writtenAt: now }),
  };

  describe.each(Object.entries(kinds))("%s", (_, rowOf) => {
    /** A request whose next change has written its index rows, and stopped. */
    async function withIndexRowOnly() {
      const loaded = await insert();
      const { request, key: keyRow } = { request: loaded.request, key: loaded.keys[0] ?? key };
      const row = rowOf(idOf(loaded));
      const changes =
        "list" in row
          ? { request: { ...request, state: "started" as const } }
          : "keyId" in row
            ? { keys: [{ ...keyRow, due }] }
            : { request: { ...request, due } };
      const stopping = storeOn(failingTable("credentialrequests", "transact", "replace")(tables));
      await expect(stopping.requests.save(loaded, changes)).rejects.toThrow("storage is away");
      const isThere = async () => {
        const rows =
          "list" in row
            ? await requests.entries(row.list, { top: 100 })
            : await Array.fromAsync(requests.due(row.queue, now));
        return rows.some(({ requestId }) => requestId === row.requestId);
      };
      expect(await isThere()).toBe(true);
      return { loaded, row, changes, isThere };
    }

    test("is removed, and its writer cannot save the change any more", async () => {
      const { loaded, row, changes, isThere } = await withIndexRowOnly();
      await requests.removeStale(row, loaded);
      expect(await isThere()).toBe(false);
      expect(await requests.save(loaded, changes)).toBeUndefined();
    });

    test("stays if its writer has saved the change meanwhile", async () => {
      const { loaded, row, changes, isThere } = await withIndexRowOnly();
      expect(await requests.save(loaded, changes)).toBeDefined();
      await requests.removeStale(row, loaded);
      expect(await isThere()).toBe(true);
    });

    test("brings a request that is deleted meanwhile back into no list of a person", async () => {
      const { loaded, row } = await withIndexRowOnly();
      expect(await requests.remove(loaded)).toBe(true);
      await requests.removeStale(row, loaded);
      const listed = await requests.entries(personList("a@example.com"), { top: 100 });
      expect(listed.map(({ requestId }) => requestId)).not.toContain(idOf(loaded));
    });
  });
});

test("a row of former work does not cost a request the row of any work that it names", async () => {
  const due = { queue: "clean", at: now } as const;
  const trackDue = { queue: "track", at: now } as const;
  const loaded = await requests.insert({ ...received(`request-${++count}`), due, trackDue }, [key]);
  const requestId = idOf(loaded);
  for (const { queue, at } of [due, trackDue]) await tables.table("due").remove(queue, `${at}_${requestId}_`);
  await requests.removeStale({ queue: "poll", at: now, requestId, writtenAt: now }, loaded);
  for (const { queue } of [due, trackDue]) {
    const rows = await Array.fromAsync(requests.due(queue, now));
    expect(rows.filter(row => row.requestId === requestId)).toHaveLength(1);
  }
});

test("a former index row that cannot be removed fails no urgent save, and a warning names its request", async () => {
  const lines: string[] = [];
  const logged = Promise.withResolvers<void>();
  const log = createLog((_, line) => {
    lines.push(line);
    logged.resolve();
  });
  const due = { queue: "poll", at: now } as const;
  const loaded = await requests.insert({ ...received(`request-${++count}`), due }, [key]);
  const host = requestStore(failingTable("due", "remove")(tables), { shipmentsTable, now: () => now, log });
  const { due: _, ...request } = loaded.request;
  expect(await host.save(loaded, { request }, { isUrgent: true })).toBeDefined();
  await logged.promise;
  expect(lines.map(line => JSON.parse(line))).toMatchObject([
    { event: "index_row_left", credentialRequestId: request.id, error: { message: "storage is away" } },
  ]);
});

test("a shipment stays linked to the request that links it while it is unlinked from another one", async () => {
  const load = async () => undefined;
  const records = shipmentRecords(tables, shipmentsTable, load);
  await records.link("contested", { requestId: "one" });
  let reads = 0;
  const racing = withTable(shipmentsTable, table => ({
    get: async (...keys) => {
      const row = await table.get(...keys);
      if (++reads > 1) return row;
      await records.unlink("contested", "one");
      expect(await records.link("contested", { requestId: "two" })).toBe(true);
      return row;
    },
  }));
  await shipmentRecords(racing(tables), shipmentsTable, load).unlink("contested", "one");
  expect(await requests.requestOfShipment("contested")).toBe("two");
});
