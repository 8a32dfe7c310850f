import { createHash } from "node:crypto";
import * as z from "zod";
import { readOrLog, rowColumns } from "../../platform/azure/row-columns.ts";
import type { Tables } from "../../platform/azure/tables.ts";
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

/** One partition for each state. All names share one, so that a request is added to their lists in one transaction. */
const namesPartition = "names";
const partitionOf = (list: RequestList): string => ("state" in list ? list.state : namesPartition);
/** Names are hashed, because a row key does not allow every character of an address. */
const prefixOf = (list: RequestList): string =>
  "state" in list ? "" : `${createHash("sha256").update(list.name).digest("base64url")}_`;

/** Returns the row of a request in a list. */
export const listRow = ({ createdAt, requestId }: ListKey, list: RequestList): IndexRow => ({
  table: listsTable,
  partitionKey: partitionOf(list),
  rowKey: prefixOf(list) + sortKeyOf({ createdAt, requestId }),
  columns: writtenAt => listColumns.toColumns({ createdAt, requestId, writtenAt }),
});

const pageSize = 100;

/** Returns the lists of requests (docs/storage.md). */
export function requestLists(tables: Tables, log: Log) {
  const table = tables.table(listsTable);
  return {
    /** Yields all entries in the order of creation. Entries may be removed meanwhile. */
    async *allEntries(list: RequestList): AsyncGenerator<ListEntry> {
      let after: string | undefined;
      for (;;) {
        const page: readonly ListEntry[] = await this.entries(list, { after, top: pageSize });
        yield* page;
        const last = page.at(-1);
        if (last === undefined || page.length < pageSize) return;
        after = sortKeyOf(last);
      }
    },

    /** Returns at most `top` entries in the order of creation, after the position `after`. */
    async entries(
      list: RequestList,
      { after, top }: { readonly after?: string | undefined; readonly top: number },
    ): Promise<readonly ListEntry[]> {
      const prefix = prefixOf(list);
      const entries: ListEntry[] = [];
      let last = after === undefined ? undefined : prefix + after;
      for (let missing = top; missing > 0; missing = top - entries.length) {
        const range = {
          partitionKey: partitionOf(list),
          ...(prefix !== "" && { rowKeyPrefix: prefix }),
          // No position is a prefix of another one, so the range begins with the next position.
          ...(last !== undefined && { from: `${last}~` }),
        };
        let rows = 0;
        for await (const row of table.query(range, { limit: missing })) {
          rows++;
          last = row.rowKey;
          const entry = await readOrLog(log, () => listColumns.fromRow(row));
          if (entry !== undefined) entries.push(entry);
        }
        if (rows < missing) break;
      }
      return entries;
    },
  };
}
