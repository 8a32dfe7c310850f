import type { UserRef } from "../../../auth/store.ts";
import { hashUsername } from "../../../auth/user-hash.ts";
import { conflict, retryOnConflict } from "../../../retry-on-conflict.ts";
import { parseRow } from "../../tables/row-schema.ts";
import type { Row } from "../../tables/tables.ts";
import { renamedIn, renamedUserIn } from "../rows/renamed-rows.ts";
import { userHashSchema } from "../rows/row-schemas.ts";
import { ownerOf, toUserColumns, userRow } from "../rows/rows.ts";
import type { AuthTables } from "../rows/tables.ts";
import { readPointer } from "./ids.ts";

/** What was read in the partition of a user. */
export interface ReadAt<T> {
  readonly userHash: string;
  readonly result: T;
  /** The row `user`; absent if there is no such user. */
  readonly user?: Row;
}

/**
 * Reads in the partition of a user. A name costs no further read, an id one. An id, or a user hash with an id, also
 * finds a user who was renamed since the hash was read: by the rows of the rename, or by the pointer. Returns undefined
 * for an id that was never issued.
 * @param userIn returns the row `user` of what was read
 * @param isFound returns whether the rows that the caller needs were read. If not, and if the user has changed since,
 *   this reads again: the rows may have been gone because the user was renamed
 */
export async function readAtUser<T>(
  tables: AuthTables,
  userRef: UserRef,
  read: (userHash: string) => Promise<T>,
  userIn: (result: T) => Row | undefined,
  isFound: (result: T) => boolean = () => true,
): Promise<ReadAt<T> | undefined> {
  const complete = async (userHash: string, result: T, user: Row): Promise<ReadAt<T> | typeof conflict> => {
    const isCurrent = isFound(result) || (await tables.users.get(userHash, userRow))?.etag === user.etag;
    return isCurrent ? { userHash, result, user } : conflict;
  };
  if (userRef.by === "name") return readByName(tables, hashUsername(userRef.folded), { read, userIn, complete });
  const { id } = userRef;
  let pointer = userRef.by === "id" ? await readPointer(tables, "users", id) : undefined;
  if (userRef.by === "id" && pointer === undefined) return undefined;
  let userHash = pointer === undefined ? (userRef.by === "userHash" ? userRef.userHash : "") : userHashIn(pointer);
  return retryOnConflict(async () => {
    const result = await read(userHash);
    const row = userIn(result);
    if (row !== undefined && ownerOf(row) === id) return complete(userHash, result, row);
    const renamed = renamedIn(row);
    if (row !== undefined && renamed?.renamed === id) {
      const next = renamed.to ?? renamed.from ?? "";
      if (renamed.from === undefined || !(await commitClaim(tables, row))) userHash = next;
      return conflict;
    }
    if (id === 0) return { userHash, result };
    // The user is deleted, unless the pointer has changed since it was read.
    const current = await readPointer(tables, "users", id);
    if (current === undefined || current.etag === pointer?.etag) return { userHash, result };
    pointer = current;
    userHash = userHashIn(current);
    return conflict;
  });
}

const readByName = <T>(
  tables: AuthTables,
  userHash: string,
  {
    read,
    userIn,
    complete,
  }: {
    readonly read: (userHash: string) => Promise<T>;
    readonly userIn: (result: T) => Row | undefined;
    readonly complete: (userHash: string, result: T, user: Row) => Promise<ReadAt<T> | typeof conflict>;
  },
): Promise<ReadAt<T>> =>
  retryOnConflict(async () => {
    const result = await read(userHash);
    const row = userIn(result);
    if (row === undefined) return { userHash, result };
    const renamed = renamedIn(row);
    if (renamed === undefined) return complete(userHash, result, row);
    return renamed.from !== undefined && (await commitClaim(tables, row)) ? conflict : { userHash, result };
  });

/**
 * Makes a claim a user, if its rename is committed. Returns false if the rename is not committed. A reader calls this
 * only during a rename, and after a crash.
 */
async function commitClaim({ users }: AuthTables, claim: Row): Promise<boolean> {
  const { renamed, from } = renamedIn(claim) ?? {};
  const former = from === undefined ? undefined : renamedIn(await users.get(from, userRow));
  if (former?.renamed !== renamed || former?.to !== claim.partitionKey) return false;
  const { partitionKey } = claim;
  // If another process has done it, or the user has changed since: the caller reads again.
  await users.replace({ partitionKey, rowKey: userRow, ...toUserColumns(renamedUserIn(claim)) }, claim.etag);
  return true;
}

/** Reads the row `user` of a user, wherever the user is. */
export const readUserRow = async (tables: AuthTables, userRef: UserRef): Promise<Row | undefined> => {
  const read = (userHash: string) => tables.users.get(userHash, userRow);
  return (await readAtUser(tables, userRef, read, row => row))?.user;
};

/**
 * Reads a user by id, and corrects the pointer if a rename has not done it. Returns undefined if the user is deleted.
 */
export const pointToUser = (tables: AuthTables, id: number): Promise<Row | undefined> =>
  retryOnConflict(async () => {
    const pointer = await readPointer(tables, "users", id);
    if (pointer === undefined) return undefined;
    const userHash = userHashIn(pointer);
    const user = await readUserRow(tables, { by: "userHash", userHash, id });
    if (user === undefined || user.partitionKey === userHash) return user;
    // By the version that was read before the user: a rename from there has corrected the pointer first.
    const { partitionKey, rowKey, etag } = pointer;
    const shown = { userHash: user.partitionKey, name: String(user.name) };
    return (await tables.ids.merge({ partitionKey, rowKey, ...shown }, etag)) === undefined ? conflict : user;
  });

/** Returns the user hash in a row. Throws a `RowError` if it has none. */
export const userHashIn = (row: Row): string => parseRow("pointer", row, userHashSchema, row).userHash;
