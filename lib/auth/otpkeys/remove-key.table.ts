import { mapConcurrently } from "../../platform/azure/row-batches.ts";
import { readOrLog } from "../../platform/azure/row-columns.ts";
import type { Row } from "../../platform/azure/tables.ts";
import { confirmWrite, conflict, retryOnConflict } from "../../platform/stored.ts";
import { holderHint, holderPrefix, removeHint, sendNotices } from "../hints.table.ts";
import { type AuthTables, byRowKey, idAtEnd, idKey, removeAction } from "../tables.table.ts";
import { endPendingWrites } from "../users/names.table.ts";
import { replaceUser, userIn, userRow } from "../users/user-rows.table.ts";
import { keysExcept } from "./assignments.table.ts";
import { keyRow } from "./key-rows.table.ts";

/**
 * Deletes an OTP key with its attributes and every assignment. While the key exists its assignments are true, so they
 * end first; a new one since then changes the key's version. Returns false if there is no such key.
 */
export async function removeKey(tables: AuthTables, prefix: string): Promise<boolean> {
  const { otpkeys } = tables;
  let removing: unknown;
  return retryOnConflict(async () => {
    const rows = await Array.fromAsync(otpkeys.query({ partitionKey: prefix }));
    const { key, attributes } = byRowKey(rows);
    // Absent after a try: that try may have succeeded, and its response was lost.
    if (key === undefined || (removing !== undefined && removing !== key.id)) return removing !== undefined;
    removing = key.id;
    const holders = rows.filter(({ rowKey }) => rowKey.startsWith(holderPrefix));
    await sendNotices(
      tables,
      holders.map(({ rowKey }) => holderHint(prefix, idAtEnd(rowKey))),
    );
    const ended = await mapConcurrently(holders, holder => endAssignment(tables, prefix, holder));
    if (ended.includes(false)) return conflict;
    const removals = [key, ...(attributes === undefined ? [] : [attributes])].map(removeAction);
    const isRemoved = await confirmWrite(
      async () => ((await otpkeys.transact(prefix, removals)) === undefined ? undefined : true),
      async () => ((await otpkeys.get(prefix, keyRow))?.id === key.id ? undefined : true),
    );
    return isRemoved ?? conflict;
  });
}

/**
 * Ends the assignment of an index row that was read, and removes the row. Returns false after a conflict. The
 * assignment of a user whose row cannot be read stays. It has the id of this key, so it does not count for another one.
 */
async function endAssignment(tables: AuthTables, prefix: string, holder: Row): Promise<boolean> {
  const { users, log } = tables;
  const hint = holderHint(prefix, idAtEnd(holder.rowKey));
  const row = await users.get(idKey(hint.id), userRow);
  const user = await readOrLog(log, () => userIn(row));
  const otpkeys = user && keysExcept(user.value, prefix);
  if (user && otpkeys && otpkeys.length < user.value.otpkeys.length) {
    if ((await replaceUser(tables, user, { ...user.value, otpkeys })) === undefined) return false;
  } else if (user !== undefined || row === undefined) {
    if (!(await endPendingWrites(tables, hint.id, row))) return false;
  }
  return removeHint(tables, hint, holder);
}
