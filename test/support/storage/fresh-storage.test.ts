import { TableClient } from "@azure/data-tables";
import { expect, test } from "vitest";
import { freshStorage } from "./fresh-storage.ts";

test("every caller gets a storage account of its own", async () => {
  const [one, two] = [freshStorage(), freshStorage()];
  expect(one.connectionString).not.toBe(two.connectionString);
  const table = (connectionString: string) =>
    TableClient.fromConnectionString(connectionString, "things", { allowInsecureConnection: true });
  await table(one.connectionString).createTable();
  await table(one.connectionString).createEntity({ partitionKey: "p", rowKey: "r" });
  await expect(table(two.connectionString).getEntity("p", "r")).rejects.toThrow(/TableNotFound|not exist/);
});
