import { mkdirSync, rmdirSync } from "node:fs";
import { join } from "node:path";
import { TableClient } from "@azure/data-tables";
import { afterAll, expect, test, vi } from "vitest";
import { startStorage } from "../../../../local/peers/storage/storage.ts";
import { emptyDirectory, endAll } from "../../start/start-process.ts";

afterAll(endAll);

test("reports data that the disk does not take, and keeps it once the disk takes it again", {
  timeout: 90_000,
}, async () => {
  const reported = vi.spyOn(console, "error").mockImplementation(() => {});
  const reports = () => reported.mock.calls.flat().join("\n");
  const directory = emptyDirectory();
  const first = await startStorage({ directory });
  // LokiJS writes to this name first.
  const draft = join(directory, "__azurite_db_table__.json~");
  const table = (connection: string) =>
    TableClient.fromConnectionString(connection, "people", { allowInsecureConnection: true });
  try {
    mkdirSync(draft);
    await table(first.connectionString).createTable();
    await table(first.connectionString).createEntity({ partitionKey: "p", rowKey: "ada" });
    await expect.poll(reports, { timeout: 30_000 }).toMatch(/cannot write its data \(.*EISDIR.*is lost/);
    rmdirSync(draft);
    await expect.poll(reports, { timeout: 30_000 }).toMatch(/writes its data again/);
  } finally {
    await first.close();
    reported.mockRestore();
  }
  const again = await startStorage({ directory });
  expect((await table(again.connectionString).getEntity("p", "ada")).rowKey).toBe("ada");
  await again.close();
});
