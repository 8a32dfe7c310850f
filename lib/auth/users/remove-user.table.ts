import { mapConcurrently } from "../../platform/azure/row-batches.ts";
import { readOrLog } from "../../platform/azure/row-columns.ts";
import { confirmWrite, conflict, retryOnConflict } from "../../platform/stored.ts";
import { attributesIn } from "../attributes/attribute-rows.table.ts";
import { indexHints, removeHint, sendNotices } from "../hints.table.ts";
import {
  type AuthTables,
  finishOrLog,
  idKey,
  newWriteId,
  type OwnRows,
  removeAction,
  touchAction,
} from "../tables.table.ts";
import { locateUser, matchesUserRef, readName, removeName } from "./names.table.ts";
import { goneColumns, isGone, readUserRows, userIn, userRow } from "./user-rows.table.ts";
import { foldUsername, type UserRef } from "./username.ts";

/**
 * Deletes a user with attributes, assignments and name; OTP keys stay. The commit makes the row `user` a deleted user,
 * and changes the version of the attributes, so that a writer who read either gets a conflict. A repetition finishes a
 * deletion that was interrupted. Returns false if there is no such user.
 */
export async function removeUser(tables: AuthTables, userRef: UserRef): Promise<boolean> {
  const { users } = tables;
  const id = await locateUser(tables, userRef);
  if (id === undefined) return false;
  const by = newWriteId(tables);
  let hasTried = false;
  let isLeft = false;
  /** What the deleted user has left. */
  let left: OwnRows | undefined;
  const isDeleted = await retryOnConflict(async () => {
    const [rows] = await Promise.all([readUserRows(tables, id), sendNotices(tables, [{ id }])]);
    const user = userIn(rows.user);
    isLeft = rows.user !== undefined && user === undefined;
    // Absent after a try: that try may have succeeded, its response was lost, and another call finished the deletion.
    if (user === undefined || rows.user === undefined) return hasTried && !isLeft;
    if (!hasTried && !matchesUserRef(userRef, user.value)) return false;
    hasTried = true;
    const { name, otpkeys } = user.value;
    const gone = { rowKey: userRow, ...goneColumns.toColumns({ gone: true, by, name, otpkeys }) };
    const { attributes } = rows;
    const actions = [{ replace: gone, etag: rows.user.etag }, ...(attributes ? [touchAction(attributes)] : [])];
    left = await confirmWrite<OwnRows>(
      async () => {
        const [etag, touched = ""] = (await users.transact(idKey(id), actions)) ?? [];
        if (etag === undefined) return undefined;
        const user = { ...gone, partitionKey: idKey(id), etag };
        return { ...rows, user, ...(attributes && { attributes: { ...attributes, etag: touched } }) };
      },
      async () => {
        const found = await readUserRows(tables, id);
        return found.user?.by === by ? found : undefined;
      },
    );
    return left === undefined ? conflict : true;
  });
  if (isDeleted || isLeft) await finishOrLog(tables.log, () => finishDeletion(tables, id, left));
  return isDeleted;
}

/**
 * Removes everything that a deleted user has left, and then the user's rows. Does nothing for a user who exists.
 * @param known the user's rows, if they were read
 */
export function finishDeletion(tables: AuthTables, id: number, known?: OwnRows): Promise<void> {
  let rows = known;
  return retryOnConflict(async () => {
    const { users, log } = tables;
    const { user, attributes, login } = rows ?? (await readUserRows(tables, id));
    rows = undefined;
    if (user === undefined || !isGone(user)) return;
    const { name, otpkeys = [] } = goneColumns.fromRow(user);
    if (name !== undefined) {
      const folded = foldUsername(name);
      // Index rows of attributes that cannot be read stay. They lead to a user who does not exist, so they do not
      // count.
      const known = (await readOrLog(log, () => attributesIn(attributes))) ?? {};
      const [row] = await Promise.all([
        readName(tables, folded),
        mapConcurrently(indexHints({ id, name, otpkeys }, known), hint => removeHint(tables, hint)),
      ]);
      if (row?.value.id === id) await removeName(tables, folded, row);
    }
    const removals = [
      ...[user, attributes].filter(row => row !== undefined).map(removeAction),
      // Without a version: a sign-in that was under way may just have written the time.
      ...(login === undefined ? [] : [{ remove: { rowKey: login.rowKey } }]),
    ];
    return (await users.transact(idKey(id), removals)) === undefined ? conflict : undefined;
  });
}
