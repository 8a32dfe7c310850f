import type { TableClient } from "@azure/data-tables";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type Entity, openTables, type Row, type Table, type Tables } from "../../../../lib/platform/azure/tables.ts";
import { conditionalRemovals, submit } from "../../../../lib/platform/azure/transaction.ts";
import { type Peer, startPeer } from "../../../../local/peers/peer.ts";
import { type PausingProxy, startPausingProxy } from "../../../support/host/pausing-proxy.ts";
import { freshStorage } from "../../../support/storage/fresh-storage.ts";

const storage = freshStorage();
const timeoutMs = 20_000;
let requests: string[] = [];
let bodies = "";
let tables: Tables;
let table: Table;
let partition = 0;
let pk: string;

beforeAll(async () => {
  tables = openTables({
    connectionString: storage.connectionString,
    timeoutMs,
    policies: [
      {
        position: "perRetry",
        policy: {
          name: "count",
          sendRequest: (request, next) => {
            requests.push(request.method);
            bodies += String(request.body);
            return next(request);
          },
        },
      },
    ],
  });
  await tables.createTable("things");
  table = tables.table("things");
});

beforeEach(() => {
  requests = [];
  bodies = "";
  pk = `p${partition++}`;
});

const all = (rows: AsyncIterable<Row>) => Array.fromAsync(rows, ({ rowKey }) => rowKey);
const fill = (keys: readonly string[]) =>
  table.transact(
    pk,
    keys.map(rowKey => ({ insert: { rowKey } })),
  );
const stale = `W/"datetime'2020-01-01T00%3A00%3A00.0000000Z'"`;

describe("a row", () => {
  test("comes back as it was written, with its etag and nothing of the protocol", async () => {
    const content = { text: "a\u0000é日🔑", empty: "", no: false };
    const etag = await table.insert({ partitionKey: pk, rowKey: "r", ...content, absent: undefined });
    expect(await table.get(pk, "r")).toEqual({ partitionKey: pk, rowKey: "r", etag, ...content });
  });

  test.each([0, -1, 2 ** 31 - 1, -(2 ** 31), 2 ** 31, Date.UTC(2026, 10, 21), Number.MAX_SAFE_INTEGER, 0.1, 1e300])(
    "keeps the number %d, whatever width it needs",
    async number => {
      await table.insert({ partitionKey: pk, rowKey: "r", number });
      expect((await table.get(pk, "r"))?.number).toBe(number);
    },
  );

  test.each([
    [1, undefined],
    [2 ** 31, "Edm.Int64"],
    [Date.UTC(2026, 10, 21), "Edm.Int64"],
    [0.5, "Edm.Double"],
  ])(
    "sends the number %d as %s: the service guesses 32 bits for whole numbers, its emulator does not",
    async (n, type) => {
      await table.insert({ partitionKey: pk, rowKey: "r", n });
      expect(JSON.parse(bodies)["n@odata.type"]).toBe(type);
    },
  );

  test.each([
    ["null", null],
    ["an object", {}],
    ["a bigint", 1n],
    ["NaN", Number.NaN],
    ["a lone surrogate", "\ud800"],
    ["more text than a property holds", "x".repeat(32_769)],
    ["a date", new Date(0)],
  ])("with %s is refused by the name of its property before anything is sent", async (_, value) => {
    const entity = { partitionKey: pk, rowKey: "r", thing: value } as Entity;
    await expect(table.insert(entity)).rejects.toThrow(/"thing"/);
    await expect(table.insert({ partitionKey: pk, rowKey: "r", "no-name": 1 })).rejects.toThrow(/"no-name"/);
    expect(requests).toEqual([]);
  });

  test("takes a text as long as a property can hold", async () => {
    const text = "é".repeat(32_768);
    await table.insert({ partitionKey: pk, rowKey: "r", text });
    expect((await table.get(pk, "r"))?.text).toBe(text);
  });

  test.each(["it's", "''", "a b", "a+b", "&=:;,@!$()*[]~", "é日🔑", "", "x".repeat(512)])(
    "has the key %j in every operation",
    async key => {
      const partitionKey = pk + key.slice(0, 200);
      expect(await table.insert({ partitionKey, rowKey: key })).toBeDefined();
      expect(await all(table.query({ partitionKey, from: key }))).toEqual([key]);
      const [etag = ""] = (await table.transact(partitionKey, [{ upsert: { rowKey: key, n: 1 } }])) ?? [];
      expect(await table.transact(partitionKey, [{ remove: { rowKey: key }, etag: stale }])).toBeUndefined();
      expect(await table.get(partitionKey, key)).toMatchObject({ partitionKey, rowKey: key, n: 1 });
      expect(await table.transact(partitionKey, [{ remove: { rowKey: key }, etag }])).toEqual([undefined]);
      expect(await table.remove(partitionKey, key)).toBe(false);
    },
  );

  // Table storage decodes a key in a path twice, and the emulator once: `%2F` would be `/`, and `50%` an error.
  test.each(["a/b", "a\\b", "a#b", "a?b", "50%", "%2F", "a\tb", "a\u0080b", "\ud800", "x".repeat(513)])(
    "with the impossible key %j is nowhere and cannot be written",
    async key => {
      expect(await table.get(key, "r")).toBeUndefined();
      expect(await table.get(pk, key)).toBeUndefined();
      expect(await table.remove(pk, key)).toBe(false);
      expect(await all(table.query({ partitionKey: key }))).toEqual([]);
      await expect(table.insert({ partitionKey: pk, rowKey: key })).rejects.toThrow(TypeError);
      await expect(table.transact(pk, [{ insert: { rowKey: key } }])).rejects.toThrow(TypeError);
      expect(requests).toEqual([]);
    },
  );
});

describe("a conditional write", () => {
  test("inserts once", async () => {
    expect(await table.insert({ partitionKey: pk, rowKey: "r", n: 1 })).toBeDefined();
    expect(await table.insert({ partitionKey: pk, rowKey: "r", n: 2 })).toBeUndefined();
    expect((await table.get(pk, "r"))?.n).toBe(1);
  });

  test.each(["replace", "merge"] as const)("does %s by the etag that was read, once", async mode => {
    const first = (await table.insert({ partitionKey: pk, rowKey: "r", n: 1, kept: true })) ?? "";
    const second = await table[mode]({ partitionKey: pk, rowKey: "r", n: 2 }, first);
    expect(await table.get(pk, "r")).toEqual({
      partitionKey: pk,
      rowKey: "r",
      etag: second,
      n: 2,
      ...(mode === "merge" && { kept: true }),
    });
    expect(await table[mode]({ partitionKey: pk, rowKey: "r", n: 3 }, first)).toBeUndefined();
    expect(await table[mode]({ partitionKey: pk, rowKey: "gone" }, first)).toBeUndefined();
    expect((await table.get(pk, "r"))?.n).toBe(2);
  });

  test("takes a row as read, its etag left out", async () => {
    await table.insert({ partitionKey: pk, rowKey: "r", n: 1 });
    const row = await table.get(pk, "r");
    const etag = await table.replace({ ...(row as unknown as Entity), n: 2 }, row?.etag ?? "");
    expect(await table.get(pk, "r")).toEqual({ partitionKey: pk, rowKey: "r", etag, n: 2 });
    expect(bodies).not.toContain("etag");
  });

  test("removes what was read, and says when it is not that any more", async () => {
    const etag = (await table.insert({ partitionKey: pk, rowKey: "r" })) ?? "";
    const changed = await table.upsert({ partitionKey: pk, rowKey: "r", n: 1 });
    expect(await table.remove(pk, "r", etag)).toBe(false);
    expect(await table.remove(pk, "r", changed)).toBe(true);
    expect(await table.remove(pk, "r")).toBe(false);
  });

  test.each(["", "*"])("without a real etag (%j) is refused: the service would overwrite", async etag => {
    await table.insert({ partitionKey: pk, rowKey: "r", n: 1 });
    const row = { rowKey: "r", n: 2 };
    await expect(table.replace({ partitionKey: pk, ...row }, etag)).rejects.toThrow(TypeError);
    await expect(table.merge({ partitionKey: pk, ...row }, etag)).rejects.toThrow(TypeError);
    await expect(table.remove(pk, "r", etag)).rejects.toThrow(TypeError);
    await expect(table.transact(pk, [{ replace: row, etag }])).rejects.toThrow(TypeError);
    await expect(table.transact(pk, [{ remove: row, etag }])).rejects.toThrow(TypeError);
    expect((await table.get(pk, "r"))?.n).toBe(1);
  });

  test("of many at once is won by one", async () => {
    const etag = (await table.insert({ partitionKey: pk, rowKey: "r" })) ?? "";
    const tries = Array.from({ length: 16 }, (_, n) => table.replace({ partitionKey: pk, rowKey: "r", n }, etag));
    expect((await Promise.all(tries)).filter(won => won !== undefined)).toHaveLength(1);
  });
});

describe("a transaction", () => {
  test.each(["\u2028", "\u2029", "a\r\n\u2028DELETE x,RowKey='r') HTTP/1.1\r\n\u2029", "\u0085\\u2028"])(
    "keeps ends of lines in a value: %j",
    async value => {
      await table.transact(pk, [{ upsert: { rowKey: "r", value } }, { upsert: { rowKey: "s", value: "x" } }]);
      expect(await table.get(pk, "r")).toMatchObject({ value });
      expect(await table.get(pk, "s")).toMatchObject({ value: "x" });
    },
  );

  test("gives the etags in the order of its actions, however they are mixed", async () => {
    const keys = Array.from({ length: 100 }, (_, n) => `k${String(n).padStart(3, "0")}`);
    const before = (await fill(keys.filter((_, n) => n % 5 !== 0))) ?? [];
    const old = [...before];
    const actions = keys.map((rowKey, n) => {
      const etag = n % 5 === 0 ? "" : (old.shift() ?? "");
      if (n % 5 === 0) return { insert: { rowKey, n } };
      if (n % 5 === 1) return { replace: { rowKey, n }, etag };
      if (n % 5 === 2) return { merge: { rowKey, n }, etag };
      if (n % 5 === 3) return { remove: { rowKey }, ...(n % 2 === 0 && { etag }) };
      return { upsert: { rowKey, n } };
    });
    const etags = await table.transact(pk, actions);
    const rows = new Map<string, unknown>();
    for await (const row of table.query({ partitionKey: pk })) rows.set(row.rowKey, row.etag);
    expect(etags).toEqual(keys.map(key => rows.get(key)));
    expect(rows.size).toBe(80);
  });

  test.each([
    ["an insert of what exists", { insert: { rowKey: "old" } }],
    ["a changed row to replace", { replace: { rowKey: "old" }, etag: stale }],
    ["a changed row to merge", { merge: { rowKey: "old" }, etag: stale }],
    ["a changed row to remove", { remove: { rowKey: "old" }, etag: stale }],
    ["a missing row to replace", { replace: { rowKey: "gone" }, etag: stale }],
    ["a missing row to remove", { remove: { rowKey: "gone" } }],
  ])("writes nothing when one condition fails: %s", async (_, action) => {
    await table.insert({ partitionKey: pk, rowKey: "old", n: 1 });
    expect(await table.transact(pk, [{ insert: { rowKey: "new" } }, action])).toBeUndefined();
    expect(await all(table.query({ partitionKey: pk }))).toEqual(["old"]);
    expect((await table.get(pk, "old"))?.n).toBe(1);
  });

  test("of nothing does nothing", async () => {
    expect(await table.transact(pk, [])).toEqual([]);
    expect(requests).toEqual([]);
  });

  test("that names a row twice is a bug, not a failed condition", async () => {
    await expect(fill(["a", "a"])).rejects.toThrow(/batch/);
  });

  test("does not mix up the conditions of removals that run at once", async () => {
    const keys = ["a", "b", "c", "d"];
    const etags = (await fill(keys)) ?? [];
    const removals = keys.map((rowKey, n) => {
      const etag = n % 2 === 0 ? (etags[n] ?? "") : stale;
      return table.transact(pk, [{ remove: { rowKey }, etag }, { upsert: { rowKey: `${rowKey}-marker` } }]);
    });
    expect((await Promise.all(removals)).map(result => result !== undefined)).toEqual([true, false, true, false]);
    expect(await all(table.query({ partitionKey: pk }))).toEqual(["a-marker", "b", "c-marker", "d"]);
  });
});

describe("a transaction whose protocol is not as known", () => {
  const change = [{ remove: { rowKey: "r" }, etag: stale }];
  const submitBy = (submitTransaction: () => Promise<unknown>) =>
    submit({ submitTransaction } as unknown as TableClient, "p", change, AbortSignal.timeout(timeoutMs));

  test("is not sent where a removal's condition finds no place in it", async () => {
    let sent = false;
    const send = async () => {
      sent = true;
    };
    const request = { body: "DELETE /things(RowKey='r',PartitionKey='p') HTTP/1.1\r\nIf-Match: *\r\n" };
    const policy = conditionalRemovals.policy.sendRequest as (request: object, next: object) => Promise<unknown>;
    await expect(submitBy(async () => policy(request, send))).rejects.toThrow(
      /If-Match header for each conditional removal/,
    );
    expect(sent).toBe(false);
  });

  test.each([
    ["fewer answers than actions", []],
    ["an answer that is no success", [{ status: 412 }]],
  ])("is never taken for done: %s", async (_, subResponses) => {
    await expect(submitBy(async () => ({ subResponses }))).rejects.toThrow(/returned/);
  });
});

describe("a query", () => {
  test("finds a range or a prefix in key order, within one partition", async () => {
    await fill(["b'1", "a", "b", "b2", "c"]);
    await table.insert({ partitionKey: `${pk}x`, rowKey: "b" });
    const find = (filter: object) => all(table.query({ partitionKey: pk, ...filter }));
    expect(await find({})).toEqual(["a", "b", "b'1", "b2", "c"]);
    expect(await find({ from: "b", before: "c" })).toEqual(["b", "b'1", "b2"]);
    expect(await find({ rowKeyPrefix: "b" })).toEqual(["b", "b'1", "b2"]);
    expect(await find({ rowKeyPrefix: "b'" })).toEqual(["b'1"]);
    expect(await find({ rowKeyPrefix: "" })).toHaveLength(5);
    expect(await find({ from: "x' or RowKey ge '" })).toEqual([]);
  });

  test("of several partitions finds rows by their keys", async () => {
    await fill(["b'1", "a", "b"]);
    const find = (rowKeys: readonly string[]) => all(table.scan({ partitionPrefix: pk, rowKeys }));
    expect(await find(["b'1", "none", "b"])).toEqual(["b", "b'1"]);
    expect(await find(["x' or RowKey ge '"])).toEqual([]);
  });

  test("goes on over pages and stops at its limit", async () => {
    const keys = Array.from({ length: 1050 }, (_, n) => String(n).padStart(4, "0"));
    for (let n = 0; n < keys.length; n += 100) await fill(keys.slice(n, n + 100));
    requests = [];
    expect(await all(table.query({ partitionKey: pk }))).toEqual(keys);
    expect(requests).toHaveLength(2);
    expect(await all(table.query({ partitionKey: pk }, { limit: 1001 }))).toHaveLength(1001);
    requests = [];
    for await (const row of table.query({ partitionKey: pk })) if (row.rowKey === "0001") break;
    expect(requests).toHaveLength(1);
  });

  test("is given page by page, each by the continuation of the one before", async () => {
    await fill(["a", "b", "c"]);
    const first = await table.queryPage({ partitionKey: pk }, { top: 2 });
    const second = await table.queryPage({ partitionKey: pk }, { top: 2, continuation: first.continuation });
    expect([first, second].map(({ rows }) => rows.map(({ rowKey }) => rowKey))).toEqual([["a", "b"], ["c"]]);
    expect(second.continuation).toBeUndefined();
  });

  test("reads the selected properties beside keys and etag", async () => {
    await table.insert({ partitionKey: pk, rowKey: "r", a: 1, b: 2 });
    for await (const row of table.query({ partitionKey: pk }, { select: ["a", "absent"] }))
      expect(row).toEqual({ partitionKey: pk, rowKey: "r", etag: expect.stringContaining("W/"), a: 1 });
  });
});

describe("a table that does not exist", () => {
  test("is an error of the deployment, not a missing row", async () => {
    const missing = tables.table("missing");
    const etag = stale;
    const tableNotFound = { statusCode: 404 };
    await expect(missing.get(pk, "r")).rejects.toMatchObject(tableNotFound);
    await expect(missing.insert({ partitionKey: pk, rowKey: "r" })).rejects.toMatchObject(tableNotFound);
    await expect(missing.replace({ partitionKey: pk, rowKey: "r" }, etag)).rejects.toMatchObject(tableNotFound);
    await expect(missing.remove(pk, "r")).rejects.toMatchObject(tableNotFound);
    await expect(missing.transact(pk, [{ insert: { rowKey: "r" } }])).rejects.toMatchObject(tableNotFound);
    await expect(all(missing.query({ partitionKey: pk }))).rejects.toMatchObject(tableNotFound);
  });

  test("is made once, and again without harm", async () => {
    await tables.createTable("made");
    await tables.createTable("made");
    expect(await tables.table("made").get(pk, "r")).toBeUndefined();
  });
});

describe("when an answer of storage is lost", () => {
  let proxy: PausingProxy;
  let behind: Table;

  beforeAll(async () => {
    proxy = await startPausingProxy(storage.tableUrl);
    behind = openTables({ connectionString: proxy.through(storage.connectionString), timeoutMs }).table("things");
  });
  afterAll(() => proxy.close());

  /** Runs a write whose first try is done and not answered. */
  const losing = async <T>(method: string, write: () => Promise<T>): Promise<T> => {
    const hold = proxy.hold({ phase: "response", method });
    const result = write();
    await hold.untilHeld();
    hold.drop();
    return result;
  };

  test("a conditional write that was done says that the row is not as it was, never that it was written twice", async () => {
    expect(await losing("POST", () => behind.insert({ partitionKey: pk, rowKey: "r", n: 1 }))).toBeUndefined();
    const inserted = await table.get(pk, "r");
    expect(inserted?.n).toBe(1);
    const etag = inserted?.etag ?? "";
    expect(await losing("PUT", () => behind.replace({ partitionKey: pk, rowKey: "r", n: 2 }, etag))).toBeUndefined();
    const replaced = await table.get(pk, "r");
    expect(replaced?.n).toBe(2);
    const actions = [{ replace: { rowKey: "r", n: 3 }, etag: replaced?.etag ?? "" }];
    expect(await losing("POST", () => behind.transact(pk, actions))).toBeUndefined();
    const last = await table.get(pk, "r");
    expect(last?.n).toBe(3);
    expect(await losing("DELETE", () => behind.remove(pk, "r", last?.etag))).toBe(false);
    expect(await table.get(pk, "r")).toBeUndefined();
  });

  test("a write without a condition and a read are repeated", async () => {
    const etag = await losing("PUT", () => behind.upsert({ partitionKey: pk, rowKey: "r", n: 1 }));
    expect(await losing("GET", () => behind.get(pk, "r"))).toMatchObject({ etag, n: 1 });
  });

  test("a write that was not done is repeated and succeeds", async () => {
    const hold = proxy.hold({ phase: "request", method: "POST" });
    const inserted = behind.insert({ partitionKey: pk, rowKey: "r" });
    await hold.untilHeld();
    hold.drop();
    expect(await inserted).toBe((await table.get(pk, "r"))?.etag);
  });

  test("the call ends at its time limit, unavailable", async () => {
    const connectionString = proxy.through(storage.connectionString);
    const hurried = openTables({ connectionString, timeoutMs: 300 }).table("things");
    const hold = proxy.hold({ phase: "response", method: "PUT" });
    const written = hurried.upsert({ partitionKey: pk, rowKey: "r" });
    await expect(written).rejects.toMatchObject({ kind: "unavailable", retryAfterSeconds: 5 });
    expect(hold.held()).toBe(1);
    hold.release();
  });
});

describe("storage that is away or throttling", () => {
  let away: Peer;
  let limited: Table;
  const answers: { status: number; headers?: Record<string, string>; body?: unknown }[] = [];

  beforeAll(async () => {
    away = await startPeer("storage", { handle: () => (answers.length > 1 ? answers.shift() : answers[0]) });
    const connectionString = `DefaultEndpointsProtocol=http;AccountName=a;AccountKey=bG9jYWw=;TableEndpoint=${away.url}/a`;
    limited = openTables({ connectionString, timeoutMs }).table("things");
  });
  afterAll(() => away.close());
  beforeEach(() => {
    answers.splice(0);
    away.resetRequests();
  });

  test("is unavailable with the pause that it asks for, at once where that is longer than a call may take", async () => {
    answers.push({ status: 503, headers: { "retry-after": "30" } });
    await expect(limited.get(pk, "r")).rejects.toMatchObject({ kind: "unavailable", retryAfterSeconds: 30 });
    expect(away.count("GET", /./)).toBe(1);
    answers.splice(0, 1, { status: 503, headers: { "retry-after": "0, 29.5" } });
    await expect(limited.get(pk, "r")).rejects.toMatchObject({ kind: "unavailable", retryAfterSeconds: 30 });
    expect(away.count("GET", /./)).toBe(2);
  });

  test("is asked a bounded number of times, then unavailable", async () => {
    answers.push({ status: 500 });
    await expect(limited.insert({ partitionKey: pk, rowKey: "r" })).rejects.toMatchObject({ kind: "unavailable" });
    expect(away.count("POST", /./)).toBe(4);
  });

  const transactionAnswer = (part: string) => ({
    status: 202,
    headers: { "content-type": "multipart/mixed; boundary=batchresponse_1" },
    body: [
      "--batchresponse_1\r\nContent-Type: multipart/mixed; boundary=changesetresponse_1\r\n",
      `--changesetresponse_1\r\nContent-Type: application/http\r\n\r\nHTTP/1.1 ${part}`,
      "--changesetresponse_1--\r\n--batchresponse_1--\r\n",
    ].join("\r\n"),
  });
  const failedPart = (status: string, code: string) => {
    const error = { code, message: { lang: "en-US", value: `0:${code}` } };
    return transactionAnswer(
      `${status}\r\nContent-Type: application/json\r\n\r\n${JSON.stringify({ "odata.error": error })}`,
    );
  };

  test.each([
    ["503 Service Unavailable", "ServerBusy"],
    ["500 Internal Server Error", "OperationTimedOut"],
  ])("repeats a transaction whose action fails with %s, although the response has 202", async (status, code) => {
    answers.push(failedPart(status, code), transactionAnswer(`204 No Content\r\nETag: ${stale}\r\n\r\n`));
    expect(await limited.transact(pk, [{ upsert: { rowKey: "r" } }])).toEqual([stale]);
    expect(away.count("POST", /batch/)).toBe(2);
  });

  test("is unavailable if a transaction fails each time because it is busy, and is asked a bounded number of times", async () => {
    answers.push(...Array.from({ length: 5 }, () => failedPart("503 Service Unavailable", "ServerBusy")));
    const written = limited.transact(pk, [{ upsert: { rowKey: "r" } }]);
    await expect(written).rejects.toMatchObject({ kind: "unavailable" });
    expect(away.count("POST", /batch/)).toBe(4);
  });

  test("is unavailable where nothing listens, with the reason in the cause alone", async () => {
    const gone = await startPeer("gone", { handle: () => undefined });
    await gone.close();
    const connectionString = `DefaultEndpointsProtocol=http;AccountName=a;AccountKey=bG9jYWw=;TableEndpoint=${gone.url}/a`;
    const error = await openTables({ connectionString, timeoutMs })
      .table("things")
      .get(pk, "r")
      .catch((reason: unknown) => reason);
    expect(error).toMatchObject({ kind: "unavailable", cause: { code: "ECONNREFUSED" } });
    expect(String(error)).not.toContain("127.0.0.1");
  });

  test("is unavailable if its response cannot be read, and nothing of the response is passed on", async () => {
    answers.push({ status: 200, headers: { "content-type": "application/json" }, body: '{"pin":"314159' });
    const error = await limited.get(pk, "r").catch((reason: Error) => reason);
    expect(error).toMatchObject({ kind: "unavailable" });
    expect(`${error} ${(error as Error).stack} ${(error as Error).cause}`).not.toContain("314159");
  });

  test("goes on after a page without rows, which the service gives where a server has none of the range", async () => {
    const next = { "x-ms-continuation-nextpartitionkey": "b", "x-ms-continuation-nextrowkey": "" };
    const json = { "content-type": "application/json" };
    answers.push({ status: 200, headers: { ...json, ...next }, body: { value: [] } });
    answers.push({ status: 200, headers: json, body: { value: [{ PartitionKey: "b", RowKey: "r" }] } });
    expect(await all(limited.scan({ beforePartition: "c" }))).toEqual(["r"]);
  });

  test("is unavailable where something else answers for it, not empty", async () => {
    answers.push({ status: 200, headers: { "content-type": "text/html" }, body: "<html>" });
    await expect(limited.get(pk, "r")).rejects.toMatchObject({ kind: "unavailable" });
    await expect(all(limited.query({ partitionKey: pk }))).rejects.toMatchObject({ kind: "unavailable" });
  });

  test("gives a selected property that a row has not as null, which is left out", async () => {
    answers.push({ status: 200, headers: { "content-type": "application/json" }, body: { PartitionKey: pk, a: null } });
    expect(await limited.get(pk, "r")).toEqual({ partitionKey: pk });
  });

  test("that refuses is an error of its own", async () => {
    answers.push({ status: 403, body: { "odata.error": { code: "AuthorizationFailure", message: { value: "no" } } } });
    await expect(limited.get(pk, "r")).rejects.toMatchObject({ name: "RestError", statusCode: 403 });
    const refused = { name: "RestError", statusCode: 403, code: "AuthorizationFailure" };
    await expect(limited.transact(pk, [{ upsert: { rowKey: "r" } }])).rejects.toMatchObject(refused);
  });

  test("is never spoken to without TLS, this machine excepted", async () => {
    const connectionString =
      "DefaultEndpointsProtocol=http;AccountName=a;AccountKey=bG9jYWw=;TableEndpoint=http://storage.example/a";
    const got = openTables({ connectionString, timeoutMs }).table("things").get("a", "b");
    await expect(got).rejects.toThrow("http://storage.example is refused");
  });
});
