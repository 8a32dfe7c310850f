import { nextEpoch } from "../../auth/model/session.ts";
import type { Username } from "../../auth/model/username.ts";
import type { Stored, User, UserRef } from "../../auth/store.ts";
import { hashUsername } from "../../auth/user-hash.ts";
import { conflict, retryOnConflict } from "../../retry-on-conflict.ts";
import { readAllRows } from "../tables/row-batches.ts";
import type { Action, Row } from "../tables/tables.ts";
import { indexRename } from "./clean-up/expiry-index.ts";
import { vacate } from "./clean-up/sweep.ts";
import { correctIndexRows } from "./index/correct-index-rows.ts";
import { pointerTo } from "./index/index-entries.ts";
import { type DirtyRow, markClean, markDirty } from "./index/list-rows.ts";
import { pointToUser, readUserRow } from "./index/locate-user.ts";
import { nameRowKeys, rowKeysOf } from "./index/name-index.ts";
import { endOfRename, isUnderWay, renamedIn, toRenamedColumns } from "./rows/renamed-rows.ts";
import {
  assignedPrefix,
  attributePrefix,
  fromUserRow,
  headIn,
  headRow,
  loginRow,
  ownerOf,
  schemaVersion,
  toUserColumns,
  userRow,
} from "./rows/rows.ts";
import type { AuthTables } from "./rows/tables.ts";

/**
 * Renames a user: all of it or nothing. Claims the new name, copies the user's rows, and commits by one write of the
 * row `user` of the former name, by its version. So a change of the user since the copy gets a conflict, or causes one
 * here. Ends the sessions. Returns `taken` if another user has the name.
 */
export async function renameUser(
  tables: AuthTables,
  userRef: UserRef,
  username: Username,
): Promise<Stored<User> | "no_user" | "taken"> {
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

/** The user as read before the rename, with the row by whose version the rename is committed. */
interface Source {
  readonly user: User;
  readonly row: Row;
  readonly head: Row | undefined;
}

/** Reads the user, and corrects the pointer: it must name the user's partition before the user leaves it. */
async function readSource(tables: AuthTables, userRef: UserRef): Promise<Source | undefined> {
  const id = ownerOf(await readUserRow(tables, userRef));
  const row = id === undefined ? undefined : await pointToUser(tables, id);
  if (row === undefined) return undefined;
  return { user: fromUserRow(row).value, row, head: await tables.users.get(row.partitionKey, headRow) };
}

/** Changes the case of a name, which has the same partition. */
async function respell(tables: AuthTables, { user, row }: Source, next: User): Promise<Stored<User> | typeof conflict> {
  const { userHash, name } = next;
  const listed = await markDirty(tables, rowKeysOf(user), { userHash, name });
  const etag = await tables.users.replace(
    { partitionKey: userHash, rowKey: userRow, ...toUserColumns(next) },
    row.etag,
  );
  if (etag === undefined) return conflict;
  await markClean(tables, listed, { userHash, name });
  return { value: next, version: etag };
}

/** A claim of a name, with the version of the head row that every write of the copy names. */
interface Claim {
  readonly userHash: string;
  readonly id: number;
  readonly head: string;
}

/**
 * Inserts the row `user` at the new name, which is no user yet. A claim of another attempt, also one of the same user,
 * is removed first, which makes that attempt fail: its commit must not find the claim and the copy of this one.
 */
async function claimName(
  tables: AuthTables,
  { user, head }: Source,
  next: User,
): Promise<Claim | "taken" | typeof conflict> {
  const { users } = tables;
  const { userHash, id } = next;
  const [existing, headThere] = await Promise.all([users.get(userHash, userRow), users.get(userHash, headRow)]);
  const renamed = renamedIn(existing);
  // Of several users who are given a name at once, the one with the lowest id gets it: none removes the claim of
  // another for ever.
  if (renamed !== undefined && renamed.renamed < id && isUnderWay(renamed, tables.now())) return "taken";
  if (existing !== undefined) return (await freeName(tables, existing)) ? conflict : "taken";
  const former = ownerOf(headThere);
  if (former !== undefined && former !== id) {
    await vacate(tables, { userHash, id: former, name: next.name });
    return conflict;
  }
  const ends = endOfRename(tables.now());
  await indexRename(tables, [user.userHash, userHash], ends);
  const row = { rowKey: userRow, ...toRenamedColumns(next, { from: user.userHash }, ends) };
  const headColumns = { rowKey: headRow, schema: schemaVersion, id, ...headIn(head, id) };
  const written = await users.transact(userHash, [
    { insert: row },
    headThere === undefined ? { insert: headColumns } : { replace: headColumns, etag: headThere.etag },
  ]);
  const version = written?.[1];
  return version === undefined ? conflict : { userHash, id, head: version };
}

/**
 * Makes a name free whose row `user` belongs to a rename: of a user who has left the name, or whose rename to it is not
 * committed. Returns false if a user has the name.
 */
export async function freeName(tables: AuthTables, row: Row): Promise<boolean> {
  const renamed = renamedIn(row);
  if (renamed === undefined) return false;
  await vacate(tables, { userHash: row.partitionKey, id: renamed.renamed, name: String(row.name) });
  return true;
}

/** Removes the claim of a rename that ends without success. */
async function dropClaim(tables: AuthTables, { userHash, id, name }: User): Promise<void> {
  const row = await tables.users.get(userHash, userRow);
  if (row !== undefined && renamedIn(row)?.renamed === id) await vacate(tables, { userHash, id, name });
}

interface Listed {
  readonly former: readonly DirtyRow[];
  readonly next: readonly DirtyRow[];
}

/** Marks the list rows dirty: that of the former name, which goes after the rename, and those of the new one. */
async function markRenamed(tables: AuthTables, user: User, next: User): Promise<Listed> {
  const keys = nameRowKeys(user);
  const isMoved = keys.rowKey !== nameRowKeys(next).rowKey;
  const [former, dirty] = await Promise.all([
    markDirty(tables, isMoved ? [keys] : [], { userHash: user.userHash, name: user.name }),
    markDirty(tables, rowKeysOf(next), { userHash: next.userHash, name: next.name }),
  ]);
  return { former, next: dirty };
}

type Part = Extract<Action, { upsert: unknown }>["upsert"];

/** Rows of one transaction, besides the head row. */
const batchSize = 99;

/**
 * Copies attributes, assignments and last sign-in to the claim, and removes what an earlier attempt has left. Each
 * transaction writes the head row by its version: a process whose claim was removed or rewritten writes nothing any
 * more.
 */
async function copyRows(tables: AuthTables, { user }: Source, claim: Claim): Promise<boolean> {
  const { users } = tables;
  const { userHash, id } = claim;
  const rowsIn = async (partitionKey: string) => readAllRows(users.query({ partitionKey }));
  const [own, there] = await Promise.all([rowsIn(user.userHash), rowsIn(userHash)]);
  const copied = own.filter(row => ownerOf(row) === id && isCopied(row));
  const rowKeys = new Set(copied.map(({ rowKey }) => rowKey));
  const isLeft = (row: Row) => ownerOf(row) === id && row.rowKey !== headRow && !rowKeys.has(row.rowKey);
  const actions: Action[] = [
    ...there.filter(isLeft).map(({ rowKey, etag }) => ({ remove: { rowKey }, etag })),
    ...copied.map(({ partitionKey: _, etag: __, ...columns }) => ({ upsert: columns as Part })),
  ];
  let head = claim.head;
  for (let start = 0; start < actions.length; start += batchSize) {
    const touch: Action = { merge: { rowKey: headRow, schema: schemaVersion }, etag: head };
    const written = await users.transact(userHash, [touch, ...actions.slice(start, start + batchSize)]);
    if (written?.[0] === undefined) return false;
    head = written[0];
  }
  return true;
}

const isCopied = ({ rowKey }: Row) =>
  rowKey.startsWith(attributePrefix) || rowKey.startsWith(assignedPrefix) || rowKey === loginRow;

/**
 * Commits the rename: from now on the claim is the user, and the row of the former name only says where the user is. By
 * the version of `user`, which every change of the user's attributes and assignments changes.
 */
async function commit({ users, now }: AuthTables, { user, row }: Source, next: User): Promise<boolean> {
  const columns = toRenamedColumns(next, { to: next.userHash }, endOfRename(now()));
  return (await users.replace({ partitionKey: user.userHash, rowKey: userRow, ...columns }, row.etag)) !== undefined;
}

/** Lets pointer, index rows and list rows name the new partition. After a crash, readers find the user without it. */
async function finish(tables: AuthTables, next: User, listed: Listed | undefined): Promise<Stored<User> | "no_user"> {
  const row = await pointToUser(tables, next.id);
  if (row === undefined) return "no_user";
  const { ids } = tables;
  const user = fromUserRow(row);
  const { userHash, name } = user.value;
  const isHere = userHash === next.userHash && name === next.name;
  await Promise.all([
    correctIndexRows(tables, user.value),
    isHere && listed && markClean(tables, listed.next, { userHash, name }),
    ...(isHere && listed ? listed.former : []).map(({ keys, version }) =>
      ids.remove(keys.partitionKey, keys.rowKey, version),
    ),
  ]);
  return user;
}
