import type {
  AssignedKey,
  Range,
  SignInState,
  Stored,
  User,
  UserFilter,
  UserRef,
  UserSummary,
  Users,
} from "../../auth/store.ts";
import { userHash } from "../../auth/user-hash.ts";
import { mapConcurrently, readAllRows } from "../tables/many.ts";
import { conflict, retryOnConflict } from "../tables/retry-on-conflict.ts";
import { parseRow } from "../tables/row-schema.ts";
import type { Row } from "../tables/tables.ts";
import { sweepUser } from "./clean-up/sweep.ts";
import { filteredUsers } from "./index/filter.ts";
import { listPage, markClean, markDirty, type Owners, removeListed, reserveId } from "./index/id-lists.ts";
import { handleIn, ifMatches, locate } from "./index/locate.ts";
import { listedUserSchema } from "./rows/row-schemas.ts";
import {
  assignedKeyIn,
  assignedPrefix,
  attributesIn,
  fromThrottleRow,
  fromUserRow,
  ownerOf,
  throttleRow,
  toUserColumns,
  userRow,
} from "./rows/rows.ts";
import type { AuthTables } from "./rows/tables.ts";

export function userStore(shelves: AuthTables): Users {
  const { users } = shelves;

  const find = async (whom: UserRef): Promise<Stored<User> | undefined> => {
    const at = await locate(shelves, whom);
    const row = at && ifMatches(await users.get(at.handle, userRow), at);
    return row && fromUserRow(row);
  };

  return {
    find,

    async create({ username: { name, folded }, password }) {
      const handle = userHash(folded);
      const shown = { handle, name };
      const [there, { id, version }] = await Promise.all([
        readAllRows(users.query({ partitionKey: handle }, { select: ["schema", "id"] })),
        reserveId(shelves, "users", shown),
      ]);
      const user: User = { id, name, handle, ...(password && { password }), epoch: 1, createdAt: shelves.now() };
      const isTaken = there.some(({ rowKey }) => rowKey === userRow);
      const etag = isTaken ? undefined : await insertUser(shelves, user);
      if (etag === undefined) {
        await removeListed(shelves, "users", id);
        return undefined;
      }
      await Promise.all([
        markClean(shelves, "users", { id, version, shown }),
        mapConcurrently(ownersOf(there), former => sweepUser(shelves, { handle, id: former })),
      ]);
      return { value: user, version: etag };
    },

    async view(whom) {
      const at = await locate(shelves, whom);
      if (at === undefined) return undefined;
      const rows = await readAllRows(users.query({ partitionKey: at.handle }));
      const user = ifMatches(userRowOf(rows), at);
      if (user === undefined) return undefined;
      const { id, name } = fromUserRow(user).value;
      return {
        id,
        name,
        attributes: attributesIn(rows, id),
        otpkeys: assignedIn(rows, id).map(({ prefix }) => prefix),
      };
    },

    async standing(whom) {
      const at = await locate(shelves, whom);
      if (at === undefined) return undefined;
      const { handle } = at;
      // Row keys from the first assignment to `user` itself; attributes sort before.
      const range = { partitionKey: handle, from: assignedPrefix, before: `${userRow}:` };
      return standingOf(handle, await readAllRows(users.query(range)), at);
    },

    async save({ value, version }, { password, epoch }) {
      const { password: _, ...kept } = value;
      const next: User = { ...kept, ...(password && { password }), epoch };
      const row = { partitionKey: value.handle, rowKey: userRow, ...toUserColumns(next) };
      const etag = await users.replace(row, version);
      return etag === undefined ? undefined : { value: next, version: etag };
    },

    async remove(whom) {
      const at = await locate(shelves, whom);
      if (at === undefined) return false;
      const { handle } = at;
      let removing: number | undefined;
      const id = await retryOnConflict(async () => {
        const row = ifMatches(await users.get(handle, userRow), removing === undefined ? at : { id: removing });
        if (row === undefined) return removing;
        const { value } = fromUserRow(row);
        removing = value.id;
        await markDirty(shelves, "users", value.id, { handle, name: value.name });
        return (await users.remove(handle, userRow, row.etag)) ? removing : conflict;
      });
      if (id === undefined) return false;
      await sweepUser(shelves, { handle, id });
      return true;
    },

    list: (range: Range, filter?: UserFilter) =>
      filter === undefined || (filter.attributes.size === 0 && filter.otpkey === undefined)
        ? listPage(shelves, "users", listedUsers(shelves), range)
        : filteredUsers(shelves, filter, range),
  };
}

/** @returns the etag; undefined where another has the name */
async function insertUser({ users }: AuthTables, user: User): Promise<string | undefined> {
  const etag = await users.insert({ partitionKey: user.handle, rowKey: userRow, ...toUserColumns(user) });
  if (etag !== undefined) return etag;
  const there = await users.get(user.handle, userRow);
  // Our own, where the answer to the first try got lost.
  return ownerOf(there) === user.id ? there?.etag : undefined;
}

const userRowOf = (rows: readonly Row[]): Row | undefined => rows.find(({ rowKey }) => rowKey === userRow);

const ownersOf = (rows: readonly Row[]): number[] => [
  ...new Set(rows.map(ownerOf).filter(owner => owner !== undefined)),
];

function standingOf(handle: string, rows: readonly Row[], at: { readonly id?: number }): SignInState {
  const named = userRowOf(rows);
  const user = ifMatches(named, at);
  const userId = ownerOf(named);
  const throttle = rows.find(({ rowKey }) => rowKey === throttleRow);
  return {
    ...(user && { user: fromUserRow(user) }),
    throttle: {
      handle,
      ...(userId !== undefined && { userId }),
      value: fromThrottleRow(throttle, userId),
      ...(throttle && { version: throttle.etag }),
    },
    otpkeys: user === undefined || userId === undefined ? [] : assignedIn(rows, userId),
  };
}

const assignedIn = (rows: readonly Row[], userId: number): readonly AssignedKey[] =>
  rows.filter(row => row.rowKey.startsWith(assignedPrefix) && ownerOf(row) === userId).map(assignedKeyIn);

const listedUsers = (shelves: AuthTables): Owners<UserSummary> => ({
  fromListed: row => parseRow("list", row, listedUserSchema, { id: Number(row.rowKey), name: row.name }),
  find: async row => ifMatches(await shelves.users.get(handleIn(row), userRow), { id: Number(row.rowKey) }),
  fromRow: row => {
    const { id, name } = fromUserRow(row).value;
    return { id, name };
  },
  touch: async ({ partitionKey, etag, schema }) =>
    (await shelves.users.merge({ partitionKey, rowKey: userRow, schema: Number(schema) }, etag)) !== undefined,
  shown: row => ({ handle: row.partitionKey, name: fromUserRow(row).value.name }),
  sweep: row => sweepUser(shelves, { handle: handleIn(row), id: Number(row.rowKey) }),
});
