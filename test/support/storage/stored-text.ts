import { buffer } from "node:stream/consumers";
import { TableClient, TableServiceClient } from "@azure/data-tables";
import { BlobServiceClient } from "@azure/storage-blob";
import type { FreshStorage } from "./fresh-storage.ts";

/** Everything that lies in a storage account as text: one line a row, one a blob. */
export async function storedText({ connectionString }: FreshStorage): Promise<readonly string[]> {
  const lines: string[] = [];
  const options = { allowInsecureConnection: true };
  for await (const { name = "" } of TableServiceClient.fromConnectionString(connectionString, options).listTables()) {
    const table = TableClient.fromConnectionString(connectionString, name, options);
    for await (const row of table.listEntities()) lines.push(`${name} ${JSON.stringify(row, readable)}`);
  }
  const blobs = BlobServiceClient.fromConnectionString(connectionString);
  for await (const { name: containerName } of blobs.listContainers()) {
    const container = blobs.getContainerClient(containerName);
    for await (const { name } of container.listBlobsFlat()) {
      const { readableStreamBody } = await container.getBlobClient(name).download();
      const content = readableStreamBody === undefined ? "" : (await buffer(readableStreamBody)).toString();
      lines.push(`${containerName}/${name} ${content}`);
    }
  }
  return lines;
}

/** Large whole numbers of a row are no JSON. */
const readable = (_: string, value: unknown) => (typeof value === "bigint" ? String(value) : value);
