import { conflict, retryOnConflict } from "../../platform/retry-on-conflict.ts";
import { touchRow } from "../../platform/tables/row-batches.ts";
import type { Row } from "../../platform/tables/tables.ts";
import { attributesIn } from "../attributes/attribute-rows.table.ts";
import { finishDeletion } from "../users/remove-user.table.ts";
import { readUserRows, userIn } from "../users/user-rows.table.ts";
import { type Hint, hintedId, isOfAttribute, isTrueHint, readHint, removeHint } from "./hints.table.ts";
import { noticeColumns } from "./notices.table.ts";
import type { AuthTables } from "./tables.table.ts";

/** Removes what an unfinished call has left. */
export async function processNotice(tables: AuthTables, row: Row): Promise<"removed"> {
  const { id, table, partition, row: rowKey } = noticeColumns.fromRow(row);
  if (table === undefined || partition === undefined || rowKey === undefined) await finishDeletion(tables, id);
  else await removeFalseHint(tables, { table, partitionKey: partition, rowKey, id });
  return "removed";
}

/**
 * Removes the row of a hint, unless it is true. Changes the version of the row that decides, so that a writer who is
 * about to make the hint true gets a conflict (rule R1).
 */
const removeFalseHint = (tables: AuthTables, hint: Hint): Promise<void> =>
  retryOnConflict(async () => {
    const row = await readHint(tables, hint);
    if (row === undefined || hintedId(hint.table, row) !== hint.id) return;
    const rows = await readUserRows(tables, hint.id);
    const user = userIn(rows.user);
    if (user !== undefined && isTrueHint(hint, user.value, () => attributesIn(rows.attributes))) return;
    const deciding = isOfAttribute(hint) ? rows.attributes : rows.user;
    if (user !== undefined && deciding !== undefined && !(await touchRow(tables.users, deciding))) return conflict;
    return (await removeHint(tables, hint, row)) ? undefined : conflict;
  });
