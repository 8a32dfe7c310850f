import { randomUUID } from "node:crypto";
import { odata, TableClient, type TransactionAction } from "@azure/data-tables";
import { BlobServiceClient } from "@azure/storage-blob";

/**
 * The storage calls of a request with one key (docs/storage.md), by the SDKs alone: rows of about the same size, in the same order,
 * side by side where the work makes them so.
 */
export interface BareStorage {
  /** Before the IdPs, after them, and after the order. */
  create(): { received(): Promise<void>; marked(): Promise<void>; started(): Promise<string> };
  /** Before and after the delivery service is asked. */
  poll(id: string): { claimed(): Promise<void>; answered(): Promise<void> };
  /** Before and after the activation, before and after the mail. */
  key(id: string): {
    tried(): Promise<void>;
    activated(): Promise<void>;
    mailing(): Promise<void>;
    mailed(): Promise<void>;
  };
  /** What a job begins with. */
  dueRows(): Promise<void>;
}

const filler = (bytes: number) => "x".repeat(bytes);
const requestColumns = { schema: 1, recipient: filler(200), shipment: filler(300), delivery: filler(100) };
const keyColumns = { schema: 1, credentials00: filler(1700), pinResponseKey: filler(700), mail: filler(150) };

export function bareStorage(connectionString: string): BareStorage {
  const table = (name: string) =>
    TableClient.fromConnectionString(connectionString, name, { allowInsecureConnection: true });
  const [requests, due, lists, shipments] = [
    table("credentialrequests"),
    table("due"),
    table("requestlists"),
    table("fprshipments"),
  ];
  const blobs = BlobServiceClient.fromConnectionString(connectionString).getContainerClient("responses");
  const partition = "bare";
  const requestRow = (id: string) => ({ partitionKey: id, rowKey: "request", ...requestColumns });
  const keyRow = (id: string) => ({ partitionKey: id, rowKey: "key:s-01-001", ...keyColumns });
  const put = (to: TableClient, rowKey: string) =>
    to.upsertEntity(
      { partitionKey: partition, rowKey, schema: 1, requestId: rowKey, writtenAt: filler(24) },
      "Replace",
    );
  const drop = (from: TableClient, rowKey: string) => from.deleteEntity(partition, rowKey);
  const both = (id: string, how: "create" | "update") => {
    const rows = [requestRow(id), keyRow(id)];
    const actions = rows.map(
      (row): TransactionAction => (how === "create" ? ["create", row] : ["update", row, "Replace"]),
    );
    return requests.submitTransaction(actions);
  };
  const load = async (id: string) => {
    const filter = odata`PartitionKey eq ${id}`;
    await requests.listEntities({ queryOptions: { filter } }).byPage({ maxPageSize: 1000 }).next();
  };
  const replaced = (row: ReturnType<typeof requestRow> | ReturnType<typeof keyRow>) =>
    requests.updateEntity(row, "Replace");

  return {
    create: () => {
      const id = randomUUID();
      return {
        received: async () => {
          await Promise.all([put(due, `reconcile${id}`), put(lists, `received${id}`), put(lists, `one${id}`)]);
          await both(id, "create");
        },
        marked: async () => void (await both(id, "update")),
        started: async () => {
          await Promise.all([put(shipments, id), put(due, `poll${id}`), put(lists, `started${id}`)]);
          await replaced(requestRow(id));
          void Promise.all([drop(due, `reconcile${id}`), drop(lists, `received${id}`)]);
          return id;
        },
      };
    },
    poll: id => ({
      claimed: async () => {
        await load(id);
        await replaced(requestRow(id));
      },
      answered: async () => {
        const content = filler(3000);
        await blobs.getBlockBlobClient(`${id}/s-01-001.json`).upload(content, content.length);
        await put(due, `key${id}`);
        await both(id, "update");
        await drop(due, `poll${id}`);
      },
    }),
    key: id => ({
      tried: async () => {
        await load(id);
        await replaced(keyRow(id));
        await blobs.getBlockBlobClient(`${id}/s-01-001.json`).downloadToBuffer();
      },
      activated: async () => {
        await Promise.all([put(due, `clean${id}`), put(lists, `complete${id}`)]);
        await both(id, "update");
        await drop(lists, `started${id}`);
      },
      mailing: async () => void (await replaced(keyRow(id))),
      mailed: async () => {
        await put(due, `forget${id}`);
        await replaced(keyRow(id));
        await drop(due, `key${id}`);
      },
    }),
    dueRows: async () => {
      const filter = odata`PartitionKey eq ${partition}`;
      for await (const _ of due.listEntities({ queryOptions: { filter } }));
    },
  };
}
