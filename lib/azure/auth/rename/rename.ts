import { nextEpoch } from "../../../auth/model/session.ts";
import type { Username } from "../../../auth/model/username.ts";
import type { User, UserRef } from "../../../auth/store.ts";
import { hashUsername } from "../../../auth/user-hash.ts";
import { conflict, retryOnConflict } from "../../../retry-on-conflict.ts";
import { finishOrLog } from "../../tables/finish-or-log.ts";
import { correctIndexRows } from "../index/correct-index-rows.ts";
import { type DirtyRow, markClean, markDirty } from "../index/list-rows.ts";
import { pointToUser, readUserRow } from "../index/locate-user.ts";
import { nameRowKeys, rowKeysOf } from "../index/name-index.ts";
import { pointerTo } from "../index/user-snapshot.ts";
import { endOfRename, toRenamedColumns } from "../rows/renamed-rows.ts";
import { fromUserRow, headRow, ownerOf, toUserColumns, userRow } from "../rows/rows.ts";
import type { AuthTables } from "../rows/tables.ts";
import { claimName, dropClaim, type Source } from "./claim-name.ts";
import { copyRows } from "./copy-rows.ts";

/**
 * Renames a user: all of it or nothing. Claims the new name, copies the user's rows, and commits by one write of the
 * row `user` of the former name, by its version. So a change of the user since the copy gets a conflict, or causes one
 * here. Ends the sessions. Returns `taken` if another user has the name.
 */
export async function renameUser(
  tables: AuthTables,
  userRef: UserRef,
  username: Username,
): Promise<User | "no_user" | "taken"> {
  const target = hashUsername(username.folded);
  let at = userRef;
  let tried: User | undefined;
  let listed: Listed | undefined;
  const result = await retryOnConflict(async () => {
    const source = await readSource(tables, at);
    if (source === undefined) return "no_user";
    const { user } = source;
    at = pointerTo(user);
    // An earlier attempt succeeded, and its response was lost.
    if (tried !== undefined && user.epoch >= tried.epoch && user.name === tried.name)
      return finish(tables, user, listed);
    const next: User = { ...user, name: username.name, userHash: target, epoch: nextEpoch(user.epoch) };
    if (target === user.userHash) {
      tried = next;
      return respell(tables, source, next);
    }
    const claim = await claimName(tables, source, next);
    if (claim === "taken" || claim === conflict) return claim;
    tried = next;
    listed = await markRenamed(tables, user, next);
    if (!(await copyRows(tables, source, claim))) return conflict;
    return (await commit(tables, source, next)) ? finish(tables, next, listed) : conflict;
  });
  if (typeof result === "string" && tried !== undefined && tried.userHash === target) await dropClaim(tables, tried);
  return result;
}

/** Reads the user, and corrects the pointer: it must name the user's partition before the user leaves it. */
async function readSource(tables: AuthTables, userRef: UserRef): Promise<Source | undefined> {
  const id = ownerOf(await readUserRow(tables, userRef));
  const row = id === undefined ? undefined : await pointToUser(tables, id);
  if (row === undefined) return undefined;
  return { user: fromUserRow(row).value, row, head: await tables.users.get(row.partitionKey, headRow) };
}

/** Changes the case of a name, which has the same partition. */
async function respell(tables: AuthTables, { user, row }: Source, next: User): Promise<User | typeof conflict> {
  const { userHash, name } = next;
  const listed = await markDirty(tables, rowKeysOf(user), { userHash, name });
  const etag = await tables.users.replace(
    { partitionKey: userHash, rowKey: userRow, ...toUserColumns(next) },
    row.etag,
  );
  if (etag === undefined) return conflict;
  await finishOrLog(tables.log, () => markClean(tables, listed, { userHash, name }));
  return next;
}

interface Listed {
  readonly former: readonly DirtyRow[];
  readonly next: readonly DirtyRow[];
}

/**
 * Marks the list rows dirty: those of the new name, then that of the former one, which goes after the rename. In this order a list that is
 * read meanwhile has at least one row that names the user.
 */
async function markRenamed(tables: AuthTables, user: User, next: User): Promise<Listed> {
  const keys = nameRowKeys(user);
  const isMoved = keys.rowKey !== nameRowKeys(next).rowKey;
  const dirty = await markDirty(tables, rowKeysOf(next), { userHash: next.userHash, name: next.name });
  const former = await markDirty(tables, isMoved ? [keys] : [], { userHash: user.userHash, name: user.name });
  return { former, next: dirty };
}

/**
 * Commits the rename: from now on the claim is the user, and the row of the former name only says where the user is. By
 * the version of `user`, which every change of the user's attributes and assignments changes.
 */
async function commit({ users, now }: AuthTables, { user, row }: Source, next: User): Promise<boolean> {
  const columns = toRenamedColumns(next, { to: next.userHash }, endOfRename(now()));
  return (await users.replace({ partitionKey: user.userHash, rowKey: userRow, ...columns }, row.etag)) !== undefined;
}

/**
 * Lets pointer, index rows and list rows name the new partition. After a crash, readers find the user without it. Returns
 * the user as it is then: another call may have changed or deleted it.
 */
async function finish(tables: AuthTables, next: User, listed: Listed | undefined): Promise<User | "no_user"> {
  let current: User | "no_user" = next;
  await finishOrLog(tables.log, async () => {
    const row = await pointToUser(tables, next.id);
    if (row === undefined) {
      current = "no_user";
      return;
    }
    const user = fromUserRow(row).value;
    current = user;
    const { userHash, name } = user;
    const isHere = userHash === next.userHash && name === next.name;
    await Promise.all([
      correctIndexRows(tables, user),
      isHere && listed && markClean(tables, listed.next, { userHash, name }),
      ...(isHere && listed ? listed.former : []).map(({ keys, version }) =>
        tables.ids.remove(keys.partitionKey, keys.rowKey, version),
      ),
    ]);
  });
  return current;
}
