import { randomBytes } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Blobs, openBlobs } from "../../../../lib/platform/azure/blobs.ts";
import { type PausingProxy, startPausingProxy } from "../../../support/host/pausing-proxy.ts";
import { freshStorage } from "../../../support/storage/fresh-storage.ts";

const { connectionString, blobUrl } = freshStorage();
const timeoutMs = 20_000;
let blobs: Blobs;

beforeAll(async () => {
  blobs = openBlobs({ connectionString, timeoutMs });
  await blobs.createContainer("things");
});

const text = async (name: string) => {
  const content = await blobs.get("things", name);
  return content && Buffer.from(content).toString();
};
const namesOf = (prefix: string) => Array.fromAsync(blobs.list("things", prefix));

describe("a blob", () => {
  test("comes back as it was put, text as UTF-8, and is overwritten whole", async () => {
    await blobs.put("things", "a", "long é日🔑");
    expect(await text("a")).toBe("long é日🔑");
    await blobs.put("things", "a", "");
    expect(await text("a")).toBe("");
  });

  test("may be larger than any row", async () => {
    const bytes = randomBytes(3 * 1024 * 1024);
    await blobs.put("things", "large", bytes);
    expect(Buffer.from((await blobs.get("things", "large")) ?? []).equals(bytes)).toBe(true);
  });

  test.each(["a/b/c", "it's 50% é#?&+", "a\\b"])("has the name %j", async name => {
    await blobs.put("things", name, name);
    expect(await text(name)).toBe(name);
    await blobs.remove("things", name);
    expect(await text(name)).toBeUndefined();
  });

  test("that is absent is not there, and removed without harm", async () => {
    expect(await blobs.get("things", "absent")).toBeUndefined();
    await blobs.remove("things", "absent");
  });

  test("is read no further than asked", async () => {
    await blobs.put("things", "head", "0123456789");
    expect(Buffer.from((await blobs.head("things", "head", 4)) ?? []).toString()).toBe("0123");
    expect(Buffer.from((await blobs.head("things", "head", 99)) ?? []).toString()).toBe("0123456789");
    await blobs.put("things", "empty", "");
    expect((await blobs.head("things", "empty", 4))?.byteLength).toBe(0);
    expect(await blobs.head("things", "absent", 4)).toBeUndefined();
  });

  test("is listed by the beginning of its name, in order", async () => {
    for (const name of ["list/b", "list/a", "list2"]) await blobs.put("things", name, "x");
    expect(await namesOf("list/")).toEqual(["list/a", "list/b"]);
    expect(await namesOf("nothing")).toEqual([]);
  });
});

describe("a container that does not exist", () => {
  test("is an error of the deployment, not a missing blob", async () => {
    await expect(blobs.get("missing", "a")).rejects.toMatchObject({ code: "ContainerNotFound" });
    await expect(blobs.put("missing", "a", "x")).rejects.toMatchObject({ code: "ContainerNotFound" });
    await expect(blobs.remove("missing", "a")).rejects.toMatchObject({ code: "ContainerNotFound" });
  });

  test("is made once, and again without harm", async () => {
    await blobs.createContainer("made");
    await blobs.createContainer("made");
    expect(await blobs.get("made", "a")).toBeUndefined();
  });
});

describe("storage that is away", () => {
  let proxy: PausingProxy;
  beforeAll(async () => {
    proxy = await startPausingProxy(blobUrl);
  });
  afterAll(() => proxy.close());
  const through = (limit = timeoutMs) =>
    openBlobs({ connectionString: proxy.through(connectionString), timeoutMs: limit });

  test("is asked again", async () => {
    const hold = proxy.hold({ phase: "response", method: "PUT" });
    const put = through().put("things", "again", "x");
    await hold.untilHeld();
    hold.drop();
    await put;
    expect(await text("again")).toBe("x");
  });

  test("is unavailable when the call's time is over", async () => {
    const hold = proxy.hold({ phase: "request", method: "GET" });
    await expect(through(500).get("things", "a")).rejects.toMatchObject({ kind: "unavailable" });
    hold.release();
  });

  test("is unavailable where a blob breaks off each time", async () => {
    const breaking = createServer((_, response) => {
      response.writeHead(200, { "content-length": "10", "x-ms-blob-type": "BlockBlob", etag: '"x"' }).write("half");
      setImmediate(() => response.destroy());
    });
    await new Promise<void>(resolve => breaking.listen(0, "127.0.0.1", resolve));
    const { port } = breaking.address() as AddressInfo;
    const broken = `DefaultEndpointsProtocol=http;AccountName=a;AccountKey=bG9jYWw=;BlobEndpoint=http://127.0.0.1:${port}/a`;
    const got = openBlobs({ connectionString: broken, timeoutMs }).get("things", "a");
    await expect(got).rejects.toMatchObject({ kind: "unavailable" });
    breaking.close();
    breaking.closeAllConnections();
  });

  test("is never spoken to without TLS, this machine excepted", async () => {
    const elsewhere =
      "DefaultEndpointsProtocol=http;AccountName=a;AccountKey=bG9jYWw=;BlobEndpoint=http://storage.example/a";
    const got = openBlobs({ connectionString: elsewhere, timeoutMs }).get("things", "a");
    await expect(got).rejects.toThrow("http://storage.example is refused");
  });
});
