import { createHash } from "node:crypto";
import * as z from "zod";
import { readOrLog, rowColumns } from "../../platform/azure/row-columns.ts";
import type { RowPage, Tables } from "../../platform/azure/tables.ts";
import type { Log } from "../../platform/log.ts";
import { type Immutable, storedInstant } from "../../platform/stored.ts";
import { type ListKey, type RequestList, sortKeyOf } from "../model/request-lists.ts";
import type { IndexRow } from "./due-index.table.ts";
import { schemaVersion } from "./request-rows.table.ts";

const entrySchema = () => z.object({ requestId: z.string(), createdAt: storedInstant, writtenAt: storedInstant });
export type ListEntry = Immutable<z.output<ReturnType<typeof entrySchema>>>;

/** An entry of a list of requests, with its list. */
export interface ListedEntry extends ListEntry {
  readonly list: RequestList;
}

/** Table of the lists of requests. */
export const listsTable = "requestlists";

export const listColumns = rowColumns<ListEntry>({ kind: "list", version: schemaVersion }, entrySchema);

/**
 * Returns where the rows of a list are. Each state has a partition. All names share one, so that a request is added to
 * their lists in one transaction. Names are hashed, because a row key does not allow every character of an address.
 */
const placeOf = (list: RequestList): { readonly partitionKey: string; readonly prefix: string } =>
  "state" in list
    ? { partitionKey: list.state, prefix: "" }
    : { partitionKey: "names", prefix: `${createHash("sha256").update(list.name).digest("base64url")}_` };

/** Returns the row of a request in a list. */
export function listRow({ createdAt, requestId }: ListKey, list: RequestList): IndexRow {
  const { partitionKey, prefix } = placeOf(list);
  return {
    table: listsTable,
    partitionKey,
    rowKey: prefix + sortKeyOf({ createdAt, requestId }),
    columns: writtenAt => listColumns.toColumns({ createdAt, requestId, writtenAt }),
  };
}

/** Returns the lists of requests (docs/storage.md). */
export function requestLists(tables: Tables, log: Log) {
  const table = tables.table(listsTable);

  async function* entriesAfter(list: RequestList, after: string | undefined, top: number): AsyncGenerator<ListEntry> {
    const { partitionKey, prefix } = placeOf(list);
    // No position is a prefix of another one, so the range begins with the next position.
    const from = after === undefined ? undefined : `${prefix}${after}~`;
    let page: RowPage | undefined;
    do {
      const options = { top, continuation: page?.continuation };
      page = await table.queryPage({ partitionKey, rowKeyPrefix: prefix, from }, options);
      for (const row of page.rows) {
        const entry = await readOrLog(log, () => listColumns.fromRow(row));
        if (entry !== undefined) yield entry;
      }
    } while (page.continuation !== undefined);
  }

  return {
    /** Yields all entries in the order of creation. Entries may be removed meanwhile. */
    allEntries: (list: RequestList): AsyncGenerator<ListEntry> => entriesAfter(list, undefined, 1000),

    /** Returns at most `top` entries in the order of creation, after the position `after`. */
    async entries(
      list: RequestList,
      { after, top }: { readonly after?: string | undefined; readonly top: number },
    ): Promise<readonly ListEntry[]> {
      const entries: ListEntry[] = [];
      for await (const entry of entriesAfter(list, after, top)) if (entries.push(entry) === top) break;
      return entries;
    },
  };
}
