import type {
  AssignedKey,
  NamePage,
  NameRange,
  Page,
  Range,
  SignInState,
  Stored,
  User,
  UserFilter,
  UserRef,
  UserSummary,
  Users,
} from "../../auth/store.ts";
import { hashUsername } from "../../auth/user-hash.ts";
import { conflict, retryOnConflict } from "../../retry-on-conflict.ts";
import { mapConcurrently, readAllRows } from "../tables/row-batches.ts";
import { parseRow } from "../tables/row-schema.ts";
import type { Row } from "../tables/tables.ts";
import { sweepUser } from "./clean-up/sweep.ts";
import { filteredUsers, matchesFilter } from "./index/filter.ts";
import { filteredListPage, type ListOwners, listPage } from "./index/id-lists.ts";
import { reserveId } from "./index/ids.ts";
import { listedId, listRowKeys, markClean, markDirty, type RowKeys, removeListRows } from "./index/list-rows.ts";
import { ifMatches, locateUser, userHashIn } from "./index/locate-user.ts";
import { listByName, nameRowKeys } from "./index/name-index.ts";
import { listedUserSchema } from "./rows/row-schemas.ts";
import {
  assignedKeyIn,
  assignedPrefix,
  attributesIn,
  fromThrottleRow,
  fromUserRow,
  lastLoginIn,
  loginRow,
  ownerOf,
  throttleRow,
  toLoginColumns,
  toUserColumns,
  userRow,
} from "./rows/rows.ts";
import type { AuthTables } from "./rows/tables.ts";

export function userStore(tables: AuthTables): Users {
  const { users } = tables;

  const find = async (userRef: UserRef): Promise<Stored<User> | undefined> => {
    const at = await locateUser(tables, userRef);
    const row = at && ifMatches(await users.get(at.userHash, userRow), at);
    return row && fromUserRow(row);
  };

  return {
    find,

    async create({ username: { name, folded }, password }) {
      const userHash = hashUsername(folded);
      const shown = { userHash, name };
      const [existing, { id, listed }] = await Promise.all([
        readAllRows(users.query({ partitionKey: userHash }, { select: ["schema", "id"] })),
        reserveId(tables, "users", shown, reserved => rowKeysOf({ id: reserved, name })),
      ]);
      const user: User = { id, name, userHash, ...(password && { password }), epoch: 1, createdAt: tables.now() };
      const isTaken = existing.some(({ rowKey }) => rowKey === userRow);
      const etag = isTaken ? undefined : await insertUser(tables, user);
      if (etag === undefined) {
        await removeListRows(tables, rowKeysOf({ id, name }));
        return undefined;
      }
      await Promise.all([
        markClean(tables, listed, shown),
        mapConcurrently(ownersOf(existing), former => sweepUser(tables, { userHash, id: former, name })),
      ]);
      return { value: user, version: etag };
    },

    async view(userRef) {
      const at = await locateUser(tables, userRef);
      if (at === undefined) return undefined;
      const rows = await readAllRows(users.query({ partitionKey: at.userHash }));
      const user = ifMatches(userRowOf(rows), at);
      if (user === undefined) return undefined;
      const { id, name } = fromUserRow(user).value;
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
      const at = await locateUser(tables, userRef);
      if (at === undefined) return undefined;
      const { userHash } = at;
      // The range contains assignments, throttle and user. Attributes sort before it.
      const range = { partitionKey: userHash, from: assignedPrefix, before: `${userRow}:` };
      return signInStateOf(userHash, await readAllRows(users.query(range)), at);
    },

    async save({ value, version }, { password, epoch }) {
      const { password: _, ...kept } = value;
      const next: User = { ...kept, ...(password && { password }), epoch };
      const row = { partitionKey: value.userHash, rowKey: userRow, ...toUserColumns(next) };
      const etag = await users.replace(row, version);
      return etag === undefined ? undefined : { value: next, version: etag };
    },

    async remove(userRef) {
      const at = await locateUser(tables, userRef);
      if (at === undefined) return false;
      const { userHash } = at;
      let removing: UserSummary | undefined;
      const removed = await retryOnConflict(async () => {
        const row = ifMatches(await users.get(userHash, userRow), removing ?? at);
        if (row === undefined) return removing;
        const { value } = fromUserRow(row);
        removing = value;
        await markDirty(tables, rowKeysOf(value), { userHash, name: value.name });
        return (await users.remove(userHash, userRow, row.etag)) ? removing : conflict;
      });
      if (removed === undefined) return false;
      await sweepUser(tables, { userHash, id: removed.id, name: removed.name });
      return true;
    },

    async recordLogin({ userHash, id }, at) {
      await users.upsert({ partitionKey: userHash, rowKey: loginRow, ...toLoginColumns(id, at) });
    },

    list: (range: Range, filter: UserFilter = { attributes: new Map() }) => listUsers(tables, range, filter),
    listByName: (prefix, range, filter = { attributes: new Map() }) => listUsersByName(tables, prefix, range, filter),
  };
}

/** Inserts a user's row and returns its ETag; undefined if another user has the name. */
async function insertUser({ users }: AuthTables, user: User): Promise<string | undefined> {
  const etag = await users.insert({ partitionKey: user.userHash, rowKey: userRow, ...toUserColumns(user) });
  if (etag !== undefined) return etag;
  const existing = await users.get(user.userHash, userRow);
  // The row is this call's own if the response to an earlier try was lost.
  return ownerOf(existing) === user.id ? existing?.etag : undefined;
}

const userRowOf = (rows: readonly Row[]): Row | undefined => rows.find(({ rowKey }) => rowKey === userRow);

const ownersOf = (rows: readonly Row[]): number[] => [
  ...new Set(rows.map(ownerOf).filter(owner => owner !== undefined)),
];

function signInStateOf(userHash: string, rows: readonly Row[], at: { readonly id?: number }): SignInState {
  const row = userRowOf(rows);
  const user = ifMatches(row, at);
  const userId = ownerOf(row);
  const throttle = rows.find(({ rowKey }) => rowKey === throttleRow);
  return {
    ...(user && { user: fromUserRow(user) }),
    throttle: {
      userHash,
      ...(userId !== undefined && { userId }),
      value: fromThrottleRow(throttle, userId),
      ...(throttle && { version: throttle.etag }),
    },
    otpkeys: user === undefined || userId === undefined ? [] : assignedIn(rows, userId),
  };
}

const assignedIn = (rows: readonly Row[], userId: number): readonly AssignedKey[] =>
  rows.filter(row => row.rowKey.startsWith(assignedPrefix) && ownerOf(row) === userId).map(assignedKeyIn);

/** Returns the keys of the rows of a user in the lists of users. */
const rowKeysOf = (user: UserSummary): readonly RowKeys[] => [listRowKeys("users", user.id), nameRowKeys(user)];

function listUsers(tables: AuthTables, range: Range, filter: UserFilter): Promise<Page<UserSummary>> {
  const { attributes, otpkey, unusedSince } = filter;
  if (attributes.size > 0 || otpkey !== undefined) return filteredUsers(tables, filter, range);
  const owners = listedUsers(tables);
  if (unusedSince === undefined) return listPage(tables, "users", owners, range);
  const isMatch = isMatching(tables, filter);
  return filteredListPage(tables, "users", owners, range, { isMatch, createdBefore: unusedSince });
}

function listUsersByName(tables: AuthTables, prefix: string, range: NameRange, filter: UserFilter): Promise<NamePage> {
  const { attributes, otpkey, unusedSince } = filter;
  const isFiltered = attributes.size > 0 || otpkey !== undefined || unusedSince !== undefined;
  return listByName(tables, listedUsers(tables), prefix, range, isFiltered ? isMatching(tables, filter) : undefined);
}

const isMatching = (tables: AuthTables, filter: UserFilter) => (user: UserSummary, listed: Row) =>
  matchesFilter(tables, filter, { userHash: userHashIn(listed), id: user.id });

const listedUser = (row: Row): UserSummary =>
  parseRow("list", row, listedUserSchema, { id: listedId(row), name: row.name });

const listedUsers = (tables: AuthTables): ListOwners<UserSummary> => ({
  fromListed: listedUser,
  find: async row => ifMatches(await tables.users.get(userHashIn(row), userRow), { id: listedId(row) }),
  fromRow: row => {
    const { id, name } = fromUserRow(row).value;
    return { id, name };
  },
  touch: async ({ partitionKey, etag, schema }) =>
    (await tables.users.merge({ partitionKey, rowKey: userRow, schema: Number(schema) }, etag)) !== undefined,
  shown: row => ({ userHash: row.partitionKey, name: fromUserRow(row).value.name }),
  isRowOf: (listed, owner) => {
    const { value } = fromUserRow(owner);
    return rowKeysOf(value).some(keys => keys.partitionKey === listed.partitionKey && keys.rowKey === listed.rowKey);
  },
  sweep: row => sweepUser(tables, { userHash: userHashIn(row), ...listedUser(row) }),
});
