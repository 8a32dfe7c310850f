import { conflict, retryOnConflict } from "../../../retry-on-conflict.ts";
import { mapConcurrently, removeRows, touchRow } from "../../tables/row-batches.ts";
import { RowError } from "../../tables/row-schema.ts";
import type { Row } from "../../tables/tables.ts";
import { keyWithAttributes } from "../index/key-rows.ts";
import { listRowKeys, removeListRows } from "../index/list-rows.ts";
import { pointToUser } from "../index/locate-user.ts";
import { nameRowKeys } from "../index/name-index.ts";
import { renamedIn } from "../rows/renamed-rows.ts";
import {
  assignedPrefix,
  attributePrefix,
  attributeUsersKey,
  holderPrefix,
  idKey,
  keyRow,
  ownerOf,
  userRow,
} from "../rows/rows.ts";
import type { AuthTables } from "../rows/tables.ts";

/**
 * Deletes all remaining rows of a deleted user: index rows first and the list row last, so that the next list finds the rest after
 * a crash. Only for ids whose `user` row is deleted. Leaves rows that cannot be read and the list row, and then throws a `RowError`.
 * @param name any spelling of the username
 */
export async function sweepUser(
  tables: AuthTables,
  { userHash, id, name }: { readonly userHash: string; readonly id: number; readonly name: string },
): Promise<void> {
  const { users, attributeUsers, otpkeys } = tables;
  let unreadable: RowError | undefined;
  await retryOnConflict(async () => {
    const found = remainingOf(await Array.fromAsync(users.query({ partitionKey: userHash })), id, userRow);
    const { remaining } = found;
    ({ unreadable } = found);
    await mapConcurrently(remaining, async ({ rowKey, value }) => {
      if (rowKey.startsWith(attributePrefix)) {
        const key = rowKey.slice(attributePrefix.length);
        await attributeUsers.remove(attributeUsersKey(key, String(value)), idKey(id));
      }
      if (rowKey.startsWith(assignedPrefix)) {
        await otpkeys.remove(rowKey.slice(assignedPrefix.length), holderPrefix + idKey(id));
      }
    });
    return (await removeRows(users, remaining)) || conflict;
  });
  if (unreadable !== undefined) throw unreadable;
  await removeListRows(tables, [listRowKeys("users", id), nameRowKeys({ id, name })]);
}

/**
 * Deletes the rows of a user from a partition where the user is not: those of a deleted user as `sweepUser` does, of a
 * renamed user only the rows of the former name, or of a claim that was not committed. The row `user` of the rename
 * goes last.
 */
export async function vacate(
  tables: AuthTables,
  { userHash, id, name }: { readonly userHash: string; readonly id: number; readonly name: string },
): Promise<void> {
  const { users } = tables;
  await retryOnConflict(async () => {
    const user = await pointToUser(tables, id);
    if (user?.partitionKey === userHash) return;
    const rows = (await Array.fromAsync(users.query({ partitionKey: userHash }))).filter(row => ownerOf(row) === id);
    const renamed = await users.get(userHash, userRow);
    if (user === undefined) await sweepUser(tables, { userHash, id, name });
    // A rename that is about to come here is between its read of the user and its commit: it gets a conflict and starts
    // again.
    else if (!(await touchRow(users, user))) return conflict;
    const isOwn = renamed !== undefined && renamedIn(renamed)?.renamed === id;
    const isClaim = isOwn && renamedIn(renamed)?.from !== undefined;
    // A claim goes first: its rename must not find its rows incomplete.
    if (isClaim && !(await users.remove(userHash, userRow, renamed.etag))) return conflict;
    if (user !== undefined) await removeRows(users, rows);
    if (isOwn && !isClaim) await users.remove(userHash, userRow, renamed.etag);
    return;
  });
}

/**
 * Deletes all remaining rows of a deleted OTP key. A key is deleted only after its assignments, so only attributes can remain. Leaves rows
 * that cannot be read and the list row, and then throws a `RowError`.
 */
export async function sweepKey(tables: AuthTables, { prefix, id }: { prefix: string; id: number }): Promise<void> {
  let unreadable: RowError | undefined;
  await retryOnConflict(async () => {
    const found = remainingOf(await keyWithAttributes(tables, prefix), id, keyRow);
    ({ unreadable } = found);
    return (await removeRows(tables.otpkeys, found.remaining)) || conflict;
  });
  if (unreadable !== undefined) throw unreadable;
  await removeListRows(tables, [listRowKeys("otpkeys", id)]);
}

/** Returns the rows of a deleted owner, and the error of the first row whose owner cannot be read. */
function remainingOf(rows: readonly Row[], id: number, except: string) {
  const remaining: Row[] = [];
  let unreadable: RowError | undefined;
  for (const row of rows.filter(({ rowKey }) => rowKey !== except)) {
    try {
      if (ownerOf(row) === id) remaining.push(row);
    } catch (error) {
      if (!(error instanceof RowError)) throw error;
      unreadable ??= error;
    }
  }
  return { remaining, unreadable };
}
