import type { ListEntry, RequestLists } from "../../connector/deps.ts";
import { type ListKey, positionOf, type RequestList } from "../../connector/model/people-lists.ts";
import type { Log } from "../../log.ts";
import type { Now } from "../../time.ts";
import { readOrLog } from "../tables/row-schema.ts";
import type { Tables } from "../tables/tables.ts";
import { fromListRow, schemaVersion } from "./rows.ts";

/** Table of the lists of requests (decision C19). */
export const listsTable = "requestlists";

/** One partition a state; people share one, so that all whom a request concerns are entered by one transaction. */
const peoplePartition = "people";
const partitionOf = (list: RequestList): string => ("state" in list ? list.state : peoplePartition);
const prefixOf = (list: RequestList): string => ("state" in list ? "" : `${list.person}_`);
const rowKeyOf = (place: ListKey, list: RequestList): string => prefixOf(list) + positionOf(place);

const transactionSize = 100;

/** The lists in Table storage (docs/storage.md). */
export function requestLists(tables: Tables, { now, log }: { readonly now: Now; readonly log: Log }): RequestLists {
  const table = tables.table(listsTable);

  const forChunks = async (
    lists: readonly RequestList[],
    work: (partitionKey: string, some: readonly RequestList[]) => Promise<void>,
  ): Promise<void> => {
    const ofPartition = Map.groupBy(lists, partitionOf);
    await Promise.all(
      [...ofPartition].flatMap(([partitionKey, all]) =>
        Array.from({ length: Math.ceil(all.length / transactionSize) }, (_, n) =>
          work(partitionKey, all.slice(n * transactionSize, (n + 1) * transactionSize)),
        ),
      ),
    );
  };

  return {
    enter: (place, lists) =>
      forChunks(lists, async (partitionKey, some) => {
        const columns = { schema: schemaVersion, ...place, writtenAt: now() };
        const rows = some.map(list => ({ rowKey: rowKeyOf(place, list), ...columns }));
        const [only] = rows;
        if (rows.length === 1 && only !== undefined) await table.upsert({ partitionKey, ...only });
        else
          await table.transact(
            partitionKey,
            rows.map(row => ({ upsert: row })),
          );
      }),

    leave: (place, lists) =>
      forChunks(lists, async (partitionKey, some) => {
        const keys = some.map(list => rowKeyOf(place, list));
        const actions = keys.map(rowKey => ({ remove: { rowKey } }));
        // One that is gone already keeps a transaction from removing the others.
        if (keys.length > 1 && (await table.transact(partitionKey, actions)) !== undefined) return;
        await Promise.all(keys.map(rowKey => table.remove(partitionKey, rowKey)));
      }),

    async entries(list, { after, top }) {
      const prefix = prefixOf(list);
      const entries: ListEntry[] = [];
      let last = after === undefined ? undefined : prefix + after;
      for (let missing = top; missing > 0; missing = top - entries.length) {
        const range = {
          partitionKey: partitionOf(list),
          ...(prefix !== "" && { rowKeyPrefix: prefix }),
          // No position begins with another, so that this is the next one after it.
          ...(last !== undefined && { from: `${last}~` }),
        };
        let rows = 0;
        for await (const row of table.query(range, { limit: missing })) {
          rows++;
          last = row.rowKey;
          const entry = await readOrLog(log, () => fromListRow(row));
          if (entry !== undefined) entries.push(entry);
        }
        if (rows < missing) break;
      }
      return entries;
    },
  };
}
