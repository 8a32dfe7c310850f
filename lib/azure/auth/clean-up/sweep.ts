import { mapConcurrently, readAllRows, removeRows } from "../../tables/many.ts";
import { conflict, retryOnConflict } from "../../tables/retry-on-conflict.ts";
import type { Row } from "../../tables/tables.ts";
import { removeListed } from "../index/id-lists.ts";
import { keyWithAttributes } from "../index/key-rows.ts";
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
 * Removes all that a user who is gone has left, what others find it by first and the list row last, so that a crash leaves it to
 * be found again. Only for ids whose `user` row is gone for good.
 */
export async function sweepUser(shelves: AuthTables, { handle, id }: { handle: string; id: number }): Promise<void> {
  const { users, attributeUsers, otpkeys } = shelves;
  await retryOnConflict(async () => {
    const left = leftBy(await readAllRows(users.query({ partitionKey: handle })), id, userRow);
    await mapConcurrently(left, async ({ rowKey, value }) => {
      if (rowKey.startsWith(attributePrefix)) {
        const key = rowKey.slice(attributePrefix.length);
        await attributeUsers.remove(attributeUsersKey(key, String(value)), idKey(id));
      }
      if (rowKey.startsWith(assignedPrefix)) {
        await otpkeys.remove(rowKey.slice(assignedPrefix.length), holderPrefix + idKey(id));
      }
    });
    return (await removeRows(users, left)) || conflict;
  });
  await removeListed(shelves, "users", id);
}

/** As `sweepUser`, for a key that is gone: nobody has it any more (docs/storage-auth.md). */
export async function sweepKey(shelves: AuthTables, { prefix, id }: { prefix: string; id: number }): Promise<void> {
  await retryOnConflict(async () => {
    const left = leftBy(await keyWithAttributes(shelves, prefix), id, keyRow);
    return (await removeRows(shelves.otpkeys, left)) || conflict;
  });
  await removeListed(shelves, "otpkeys", id);
}

const leftBy = (rows: readonly Row[], id: number, except: string): readonly Row[] =>
  rows.filter(row => row.rowKey !== except && ownerOf(row) === id);
