import { odata, TableClient } from "@azure/data-tables";
import type { LoadedRequest } from "../../../../../../lib/connector/model/loaded-request.ts";
import { type DueEntry, dueEntryIn } from "../../../../../../lib/connector/storage/due-index.table.ts";
import type { Stage } from "../stage.ts";

/** Rows of the index of due work that name the stage's request, of all queues by one call. */
export async function indexOf({ connector, requestId }: Stage): Promise<readonly DueEntry[]> {
  const { connectionString } = connector.storage;
  const due = TableClient.fromConnectionString(connectionString, "due", { allowInsecureConnection: true });
  const entries: DueEntry[] = [];
  for await (const { partitionKey = "", rowKey = "", ...row } of due.listEntities({
    queryOptions: { filter: odata`requestId eq ${requestId}` },
  }))
    entries.push(dueEntryIn({ ...row, partitionKey, rowKey } as Parameters<typeof dueEntryIn>[0]));
  return entries;
}

/** The request's row and those of its keys. */
export const rowsOf = ({ request, keys }: LoadedRequest) => [request, ...keys];

/** Whether a row of that queue is worked on by the jobs until the request and its emails have ended. */
export const isWork = ({ queue }: Pick<DueEntry, "queue">): boolean => !["track", "clean", "purge"].includes(queue);
