import type { AssignedKey, SignInState, Stored, User, UserRef, Users } from "../../auth/store.ts";
import { hashUsername } from "../../auth/user-hash.ts";
import { conflict, retryOnConflict } from "../../retry-on-conflict.ts";
import { finishOrLog } from "../tables/finish-or-log.ts";
import { mapConcurrently } from "../tables/row-batches.ts";
import type { Row } from "../tables/tables.ts";
import { sweepUser, vacate } from "./clean-up/sweep.ts";
import { reserveId } from "./index/ids.ts";
import { markClean, markDirty, removeListRows } from "./index/list-rows.ts";
import { type ReadAt, readAtUser, readUserRow } from "./index/locate-user.ts";
import { rowKeysOf } from "./index/name-index.ts";
import { pointerTo } from "./index/user-snapshot.ts";
import { freeName } from "./rename/claim-name.ts";
import { renameUser } from "./rename/rename.ts";
import {
  assignedKeyIn,
  assignedPrefix,
  attributesIn,
  fromThrottleRow,
  fromUserRow,
  lastLoginIn,
  loginRow,
  ownerOf,
  ownersOf,
  throttleRow,
  toLoginColumns,
  toUserColumns,
  userRow,
} from "./rows/rows.ts";
import type { AuthTables } from "./rows/tables.ts";
import { listUsers, listUsersByName } from "./user-lists.ts";

export function userStore(tables: AuthTables): Users {
  const { users } = tables;

  const find = async (userRef: UserRef): Promise<Stored<User> | undefined> => {
    const row = await readUserRow(tables, userRef);
    return row && fromUserRow(row);
  };

  return {
    find,

    async create({ username: { name, folded }, password }) {
      const userHash = hashUsername(folded);
      const shown = { userHash, name };
      const [existing, { id, listed }] = await Promise.all([
        Array.fromAsync(users.query({ partitionKey: userHash }, { select: ["schema", "id"] })),
        reserveId(tables, "users", shown, reserved => rowKeysOf({ id: reserved, name })),
      ]);
      const user: User = { id, name, userHash, ...(password && { password }), epoch: 1, createdAt: tables.now() };
      const isTaken = ownerOf(userRowOf(existing)) !== undefined;
      const etag = isTaken ? undefined : await insertUser(tables, user);
      if (etag === undefined) {
        await removeListRows(tables, rowKeysOf({ id, name }));
        return undefined;
      }
      await finishOrLog(tables.log, () =>
        Promise.all([
          markClean(tables, listed, shown),
          mapConcurrently(ownersOf(existing), former => vacate(tables, { userHash, id: former, name })),
        ]),
      );
      return { value: user, version: etag };
    },

    async view(userRef) {
      const read = (userHash: string) => Array.fromAsync(users.query({ partitionKey: userHash }));
      const found = await readAtUser(tables, userRef, read, userRowOf);
      if (found?.user === undefined) return undefined;
      const { id, name } = fromUserRow(found.user).value;
      const rows = found.result;
      const lastLogin = lastLoginIn(
        rows.find(({ rowKey }) => rowKey === loginRow),
        id,
      );
      return {
        id,
        name,
        attributes: attributesIn(rows, id),
        otpkeys: assignedIn(rows, id).map(({ prefix }) => prefix),
        ...(lastLogin !== undefined && { lastLogin }),
      };
    },

    async signInState(userRef) {
      // The range contains assignments, throttle and user. Attributes sort before it.
      const range = { from: assignedPrefix, before: `${userRow}:` };
      const read = (userHash: string) => Array.fromAsync(users.query({ partitionKey: userHash, ...range }));
      const found = await readAtUser(tables, userRef, read, userRowOf);
      return found && signInStateOf(found);
    },

    async save({ value, version }, { password, epoch }) {
      const { password: _, ...kept } = value;
      const next: User = { ...kept, ...(password && { password }), epoch };
      const row = { partitionKey: value.userHash, rowKey: userRow, ...toUserColumns(next) };
      const etag = await users.replace(row, version);
      return etag === undefined ? undefined : { value: next, version: etag };
    },

    async remove(userRef) {
      let removing: User | undefined;
      const removed = await retryOnConflict(async () => {
        // Later attempts are on the same user, also if the user is renamed meanwhile.
        const row = await readUserRow(tables, removing === undefined ? userRef : pointerTo(removing));
        if (row === undefined) return removing;
        const { value } = fromUserRow(row);
        const { userHash, name } = value;
        removing = value;
        await markDirty(tables, rowKeysOf(value), { userHash, name });
        return (await users.remove(userHash, userRow, row.etag)) ? value : conflict;
      });
      if (removed === undefined) return false;
      await finishOrLog(tables.log, () => sweepUser(tables, removed));
      return true;
    },

    rename: (userRef, username) => renameUser(tables, userRef, username),

    async recordLogin({ userHash, id }, at, version) {
      const row = { partitionKey: userHash, rowKey: loginRow, ...toLoginColumns(id, at) };
      await (version === undefined ? users.insert(row) : users.replace(row, version));
    },

    list: (range, filter = { attributes: new Map() }) => listUsers(tables, range, filter),
    listByName: (prefix, range, filter = { attributes: new Map() }) => listUsersByName(tables, prefix, range, filter),
  };
}

/** Inserts a user's row and returns its ETag; undefined if another user has the name. */
const insertUser = (tables: AuthTables, user: User): Promise<string | undefined> =>
  retryOnConflict(async () => {
    const { users } = tables;
    const etag = await users.insert({ partitionKey: user.userHash, rowKey: userRow, ...toUserColumns(user) });
    if (etag !== undefined) return etag;
    const existing = await users.get(user.userHash, userRow);
    // The row is this call's own if the response to an earlier try was lost.
    if (ownerOf(existing) === user.id) return existing?.etag;
    return existing === undefined || (await freeName(tables, existing)) ? conflict : undefined;
  });

const userRowOf = (rows: readonly Row[]): Row | undefined => rows.find(({ rowKey }) => rowKey === userRow);

function signInStateOf({ userHash, result: rows, user }: ReadAt<readonly Row[]>): SignInState {
  const userId = ownerOf(userRowOf(rows));
  const throttle = rows.find(({ rowKey }) => rowKey === throttleRow);
  const login = rows.find(({ rowKey }) => rowKey === loginRow);
  return {
    ...(user && { user: fromUserRow(user) }),
    throttle: {
      userHash,
      ...(userId !== undefined && { userId }),
      value: fromThrottleRow(throttle, userId),
      ...(throttle && { version: throttle.etag }),
    },
    otpkeys: user === undefined || userId === undefined ? [] : assignedIn(rows, userId),
    ...(login && { loginVersion: login.etag }),
  };
}

const assignedIn = (rows: readonly Row[], userId: number): readonly AssignedKey[] =>
  rows.filter(row => row.rowKey.startsWith(assignedPrefix) && ownerOf(row) === userId).map(assignedKeyIn);
