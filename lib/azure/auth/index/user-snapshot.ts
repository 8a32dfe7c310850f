import type { AttributeHead } from "../../../auth/model/attributes.ts";
import type { UserPointer, UserRef } from "../../../auth/store.ts";
import { type conflict, retryOnConflict } from "../../../retry-on-conflict.ts";
import type { Action, Row } from "../../tables/tables.ts";
import { headAction } from "../rows/row-actions.ts";
import { headRow, ownerOf, userRow } from "../rows/rows.ts";
import type { AuthTables } from "../rows/tables.ts";
import { readAtUser } from "./locate-user.ts";

/** The rows on which a change of an entry is decided. `row` is the entry's row. */
export interface Snapshot {
  readonly userHash: string;
  readonly id: number;
  readonly user: Row;
  readonly head: Row | undefined;
  readonly row: Row | undefined;
}

/**
 * Changes a user's entry: reads the rows that a change needs, in parallel, and runs `change` until it has no conflict.
 * Later attempts are on the same user, also if the user is renamed meanwhile.
 * @param change is passed undefined if there is no such user
 */
export async function changeUser<T>(
  tables: AuthTables,
  userRef: UserRef,
  rowKey: string,
  change: (snapshot: Snapshot | undefined) => Promise<T | typeof conflict>,
): Promise<T> {
  let at = userRef;
  return retryOnConflict(async () => {
    const snapshot = await readSnapshot(tables, at, rowKey);
    if (snapshot !== undefined) at = pointerTo(snapshot);
    return change(snapshot);
  });
}

/** Returns a reference to the same user for later attempts, also if the user is renamed meanwhile. */
export const pointerTo = ({ userHash, id }: { readonly userHash: string; readonly id: number }): UserPointer => ({
  by: "userHash",
  userHash,
  id,
});

/** Reads the rows that a change needs, in parallel. Returns undefined if there is no such user. */
export async function readSnapshot(
  tables: AuthTables,
  userRef: UserRef,
  rowKey: string,
): Promise<Snapshot | undefined> {
  const { users } = tables;
  const read = (userHash: string) =>
    Promise.all([users.get(userHash, userRow), users.get(userHash, headRow), users.get(userHash, rowKey)]);
  const found = await readAtUser(tables, userRef, read, ([user]) => user);
  const id = ownerOf(found?.user);
  if (found?.user === undefined || id === undefined) return undefined;
  const { userHash, user, result } = found;
  const [, head, row] = result;
  return { userHash, id, user, head, row };
}

/** Returns whether the user has not changed since the snapshot. Rows that it lacks may be gone because of a rename. */
export const isCurrent = async ({ users }: AuthTables, { userHash, user }: Snapshot): Promise<boolean> =>
  (await users.get(userHash, userRow))?.etag === user.etag;

/**
 * Returns the actions that write a head row, and the row `user`, by the versions read. So a writer for whom the user
 * was deleted or renamed since the read of `user` gets a conflict: the other rows may have been read later, from what
 * is left.
 */
export const headActions = (
  { id, user, head }: Pick<Snapshot, "id" | "user" | "head">,
  next: AttributeHead,
): Action[] => [headAction(head, id, next), touchAction(user)];

/** Returns the action that changes the version of a row `user` and nothing else. */
const touchAction = ({ etag, schema }: Row): Action => ({
  merge: { rowKey: userRow, schema: Number(schema) },
  etag,
});
