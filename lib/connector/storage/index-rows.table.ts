import type { RequestValues } from "../model/loaded-request.ts";
import { listKeyOf, listsOf } from "../model/request-lists.ts";
import { type DueItem, dueRow, dueTable } from "./due-index.table.ts";
import type { IndexRow } from "./index-writer.table.ts";
import { listRow } from "./lists.table.ts";

/** Returns the work that is due on a request and its security keys. */
export const dueItemsOf = ({ request, keys }: RequestValues): readonly DueItem[] => [
  ...[request.due, request.trackDue, request.replaceDue].flatMap(due =>
    due === undefined ? [] : [{ due, requestId: request.id }],
  ),
  ...keys.flatMap(key => (key.due === undefined ? [] : [{ due: key.due, requestId: request.id, keyId: key.id }])),
];

const nameOf = ({ table, partitionKey, rowKey }: IndexRow): string => JSON.stringify([table, partitionKey, rowKey]);

/** Returns the rows that index a request: its due work and its lists. */
export const indexRowsOf = (values: RequestValues): readonly IndexRow[] => [
  ...dueItemsOf(values).map(dueRow),
  ...listsOf(values).map(list => listRow(listKeyOf(values.request), list)),
];

export const isDueRow = ({ table }: IndexRow): boolean => table === dueTable;

const contentOf = (row: IndexRow): string => `${nameOf(row)} ${row.notBefore}`;

/** Returns the index rows of `after` to write. @param before undefined for a new request */
export function newRows(before: RequestValues | undefined, after: RequestValues): readonly IndexRow[] {
  const written = new Set(before === undefined ? [] : indexRowsOf(before).map(contentOf));
  return indexRowsOf(after).filter(row => !written.has(contentOf(row)));
}

/** Returns the index rows of `before` that `after` does not have. */
export function formerRows(before: RequestValues, after: RequestValues): readonly IndexRow[] {
  const current = new Set(indexRowsOf(after).map(nameOf));
  return indexRowsOf(before).filter(row => !current.has(nameOf(row)));
}
