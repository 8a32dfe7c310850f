import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { TableClient } from "@azure/data-tables";
import { BlobServiceClient } from "@azure/storage-blob";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type Storage, startStorage } from "../../../../local/peers/storage/storage.ts";

let directory: string;
let storages: Storage[];

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "storage-"));
  storages = [];
});

afterEach(async () => {
  await Promise.all(storages.map(storage => storage.close()));
  rmSync(directory, { recursive: true });
});

const start = async (options: Parameters<typeof startStorage>[0]) => {
  const storage = await startStorage(options);
  storages.push(storage);
  return storage;
};

const table = (connectionString: string) =>
  TableClient.fromConnectionString(connectionString, "things", { allowInsecureConnection: true });
const blob = (connectionString: string) =>
  BlobServiceClient.fromConnectionString(connectionString).getContainerClient("things").getBlockBlobClient("one");

const write = async (connectionString: string, value: string) => {
  await table(connectionString).createTable();
  await table(connectionString).upsertEntity({ partitionKey: "p", rowKey: "r", value });
  await BlobServiceClient.fromConnectionString(connectionString).getContainerClient("things").createIfNotExists();
  await blob(connectionString).upload(value, Buffer.byteLength(value));
};

const read = async (connectionString: string) => ({
  row: (await table(connectionString).getEntity<{ value: string }>("p", "r")).value,
  blob: (await blob(connectionString).downloadToBuffer()).toString(),
});

describe("the storage", () => {
  test("has the same data after a restart", async () => {
    const first = await start({ directory });
    await write(first.connectionString, "kept");
    await first.close();
    const second = await start({ directory });
    expect(await read(second.connectionString)).toEqual({ row: "kept", blob: "kept" });
    expect(second.connectionString).toContain("AccountName=devstoreaccount1");
    expect(new URL(second.blobUrl).hostname).toBe("127.0.0.1");
    expect(new URL(second.tableUrl).hostname).toBe("127.0.0.1");
  });

  test("keeps everything and leaves no process when its parent's whole process group is killed", async () => {
    const script = `
      import { startStorage } from ${JSON.stringify(new URL("../../../../local/peers/storage/storage.ts", import.meta.url).href)};
      const { connectionString, tableUrl } = await startStorage({ directory: ${JSON.stringify(directory)} });
      console.log(JSON.stringify({ connectionString, tableUrl }));
      setInterval(() => {}, 1000);`;
    const parent = spawn(process.execPath, ["--input-type=module-typescript", "-e", script], {
      detached: true,
      stdio: ["ignore", "pipe", "inherit"],
    });
    const [line] = (await once(parent.stdout, "data")) as [Buffer];
    const { connectionString, tableUrl } = JSON.parse(line.toString()) as {
      connectionString: string;
      tableUrl: string;
    };
    await write(connectionString, "survives");
    process.kill(-(parent.pid ?? 0), "SIGKILL");
    // Begins while the old process is still writing.
    const next = await start({ directory });
    expect(await read(next.connectionString)).toEqual({ row: "survives", blob: "survives" });
    await expect(fetch(tableUrl)).rejects.toThrow();
  });

  test("writes everything on SIGTERM", async () => {
    const first = await start({ directory });
    await write(first.connectionString, "written");
    process.kill(first.pid, "SIGTERM");
    await first.close();
    const second = await start({ directory });
    expect(await read(second.connectionString)).toEqual({ row: "written", blob: "written" });
  });

  test("can be opened again after it was killed itself", async () => {
    const write = console.error;
    console.error = () => {};
    const first = await start({ directory });
    process.kill(first.pid, "SIGKILL");
    await first.close();
    console.error = write;
    const second = await start({ directory });
    await table(second.connectionString).createTable();
  });

  test("says that its directory or its port is in use", async () => {
    const first = await start({ directory });
    const port = Number(new URL(first.tableUrl).port);
    await Promise.all([
      expect(start({ directory })).rejects.toThrow(`The storage cannot start: the directory ${directory} is in use`),
      expect(start({ ports: { blob: 0, table: port } })).rejects.toThrow(/cannot start: .*EADDRINUSE.*:\d+/),
    ]);
  });

  test("keeps accounts apart, each with its own key", async () => {
    const accounts = ["one", "two"].map(name => ({ name, key: Buffer.from(name.repeat(8)).toString("base64") }));
    const storage = await start({ accounts });
    await write(storage.connectionStringOf("one"), "of one");
    expect(storage.connectionString).toBe(storage.connectionStringOf("one"));
    await expect(read(storage.connectionStringOf("two"))).rejects.toThrow(/TableNotFound|not exist/);
    const wrongKey = storage.connectionStringOf("two").replace(accounts[1]?.key ?? "", accounts[0]?.key ?? "");
    await expect(table(wrongKey).createTable()).rejects.toThrow(/authenticate/);
    expect(() => storage.connectionStringOf("three")).toThrow("there is no storage account three");
  });
});
