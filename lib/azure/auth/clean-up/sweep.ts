import { conflict, retryOnConflict } from "../../../retry-on-conflict.ts";
import { mapConcurrently, readAllRows, removeRows } from "../../tables/row-batches.ts";
import type { Row } from "../../tables/tables.ts";
import { keyWithAttributes } from "../index/key-rows.ts";
import { listRowKeys, removeListRows } from "../index/list-rows.ts";
import { nameRowKeys } from "../index/name-index.ts";
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
 * a crash. Only for ids whose `user` row is deleted.
 * @param name any spelling of the username
 */
export async function sweepUser(
  tables: AuthTables,
  { userHash, id, name }: { readonly userHash: string; readonly id: number; readonly name: string },
): Promise<void> {
  const { users, attributeUsers, otpkeys } = tables;
  await retryOnConflict(async () => {
    const remaining = remainingOf(await readAllRows(users.query({ partitionKey: userHash })), id, userRow);
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
  await removeListRows(tables, [listRowKeys("users", id), nameRowKeys({ id, name })]);
}

/** Deletes all remaining rows of a deleted OTP key. A key is deleted only after its assignments, so only attributes can remain. */
export async function sweepKey(tables: AuthTables, { prefix, id }: { prefix: string; id: number }): Promise<void> {
  await retryOnConflict(async () => {
    const remaining = remainingOf(await keyWithAttributes(tables, prefix), id, keyRow);
    return (await removeRows(tables.otpkeys, remaining)) || conflict;
  });
  await removeListRows(tables, [listRowKeys("otpkeys", id)]);
}

const remainingOf = (rows: readonly Row[], id: number, except: string): readonly Row[] =>
  rows.filter(row => row.rowKey !== except && ownerOf(row) === id);
