import { TableClient } from "@azure/data-tables";
import { BlobServiceClient } from "@azure/storage-blob";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { freshStorage } from "../storage/fresh-storage.ts";
import { type PausingProxy, startPausingProxy } from "./pausing-proxy.ts";

let proxy: PausingProxy;
let direct: TableClient;
let proxied: TableClient;

beforeEach(async () => {
  const { connectionString, tableUrl } = freshStorage();
  proxy = await startPausingProxy(tableUrl);
  const options = { allowInsecureConnection: true, retryOptions: { maxRetries: 0 } };
  direct = TableClient.fromConnectionString(connectionString, "things", options);
  proxied = TableClient.fromConnectionString(proxy.through(connectionString), "things", options);
  await direct.createTable();
});

afterEach(() => proxy.close());

const stored = async (rowKey = "r") => {
  try {
    return (await direct.getEntity<{ v: number }>("p", rowKey)).v;
  } catch (error) {
    if ((error as { statusCode?: number }).statusCode === 404) return undefined;
    throw error;
  }
};
const entity = (v: number, rowKey = "r") => ({ partitionKey: "p", rowKey, v });

describe("a pausing proxy", () => {
  test("lets signed table requests and transactions through as they are", async () => {
    await proxied.createEntity(entity(1));
    const { etag } = await proxied.getEntity("p", "r");
    await proxied.updateEntity(entity(2), "Merge", { etag });
    await expect(proxied.updateEntity(entity(3), "Merge", { etag })).rejects.toMatchObject({ statusCode: 412 });
    await proxied.submitTransaction([
      ["upsert", entity(4)],
      ["create", entity(5, "o'b r")],
    ]);
    const rows = await Array.fromAsync(proxied.listEntities<{ v: number }>(), ({ v }) => v);
    expect(rows).toEqual([5, 4]);
    expect(proxy.passed()).toBe(6);
  });

  test("lets signed blob requests through as they are", async () => {
    const { connectionString, blobUrl } = freshStorage();
    const blobs = await startPausingProxy(blobUrl);
    try {
      const client = BlobServiceClient.fromConnectionString(blobs.through(connectionString));
      const container = client.getContainerClient("things");
      await container.create();
      const content = Buffer.alloc(300_000, "äbc");
      await container.getBlockBlobClient("a b/ä").upload(content, content.length);
      expect(await container.getBlockBlobClient("a b/ä").downloadToBuffer()).toEqual(content);
      expect((await container.getBlockBlobClient("a b/ä").getProperties()).contentLength).toBe(content.length);
      expect(blobs.passed()).toBe(5);
    } finally {
      await blobs.close();
    }
  });

  test("pauses a request before it reaches storage, until it is released", async () => {
    const hold = proxy.hold({ phase: "request", method: "POST", path: /\/things/ });
    const call = proxied.createEntity(entity(1));
    await hold.untilHeld();
    expect(hold.held()).toBe(1);
    expect(await stored()).toBeUndefined();
    hold.release();
    await call;
    expect(hold.held()).toBe(0);
    expect(await stored()).toBe(1);
  });

  test("pauses storage's response when the work is done", async () => {
    const hold = proxy.hold({ phase: "response", path: /\/things/ });
    let answered = false;
    const call = proxied.createEntity(entity(1)).then(() => {
      answered = true;
    });
    await hold.untilHeld();
    expect(await stored()).toBe(1);
    expect(answered).toBe(false);
    hold.release();
    await call;
  });

  test.each([
    ["request", undefined],
    ["response", 1],
  ] as const)("drops what it holds in phase %s", async (phase, left) => {
    const hold = proxy.hold({ phase });
    const call = expect(proxied.createEntity(entity(1))).rejects.toThrow();
    await hold.untilHeld();
    hold.drop();
    await call;
    expect(await stored()).toBe(left);
    await proxied.upsertEntity(entity(2));
  });

  test("sends a released request on when its caller is gone", async () => {
    const hold = proxy.hold({ phase: "request" });
    const late = proxy.hold({ phase: "response" });
    const giveUp = new AbortController();
    const call = expect(proxied.createEntity(entity(1), { abortSignal: giveUp.signal })).rejects.toThrow();
    await hold.untilHeld();
    giveUp.abort();
    await call;
    hold.release();
    await late.untilHeld();
    expect(await stored()).toBe(1);
  });

  test("recognises a transaction by its body", async () => {
    const hold = proxy.hold({ phase: "request", path: /\$batch$/, body: /RowKey='second'/ });
    await proxied.submitTransaction([["upsert", entity(1, "first")]]);
    const call = proxied.submitTransaction([["upsert", entity(2, "second")]]);
    await hold.untilHeld();
    expect(await stored("first")).toBe(1);
    expect(await stored("second")).toBeUndefined();
    hold.release();
    await call;
    expect(await stored("second")).toBe(2);
  });

  test("pauses only exchanges that match method, path and headers, and only as many as requested", async () => {
    const hold = proxy.hold({
      phase: "request",
      method: "PATCH",
      headers: { "if-match": /^\*$/ },
      path: /r2/,
      times: 2,
    });
    await proxied.upsertEntity(entity(1, "r2"));
    await proxied.upsertEntity(entity(1, "r3"));
    await proxied.updateEntity(entity(2, "r3"), "Merge");
    const { etag } = await proxied.getEntity("p", "r2");
    await proxied.updateEntity(entity(2, "r2"), "Merge", { etag });
    const calls = [3, 4].map(v => proxied.updateEntity(entity(v, "r2"), "Merge"));
    await hold.untilHeld(2);
    await proxied.updateEntity(entity(5, "r2"), "Merge");
    expect(await stored("r2")).toBe(5);
    hold.release();
    await Promise.all(calls);
    expect(await stored("r2")).not.toBe(5);
  });
});
