import * as z from "zod";
import { touchRow } from "../../platform/azure/row-batches.ts";
import { rowColumns } from "../../platform/azure/row-columns.ts";
import type { Row } from "../../platform/azure/tables.ts";
import { conflict, type Immutable, type Stored } from "../../platform/stored.ts";
import { sendNotices } from "../hints.table.ts";
import type { User } from "../store.ts";
import { type AuthTables, idKey, namePartition, nameRow, type OwnRows, schemaVersion } from "../tables.table.ts";
import { goneColumns, isGone, readUserRows, userIn, userRow } from "./user-rows.table.ts";
import { foldUsername, type UserRef } from "./username.ts";

const nameSchema = () =>
  z.object({
    id: z.int().positive(),
    /** Random, of the call that wrote it. */
    by: z.int().nonnegative(),
  });
type NameRow = Immutable<z.output<ReturnType<typeof nameSchema>>>;

/** The row that leads from a name to a user. The user's own row decides whether the user has the name. */
export const nameColumns = rowColumns<NameRow>({ kind: "name", version: schemaVersion }, nameSchema);

/** Reads the row of a folded name. */
export async function readName(tables: AuthTables, folded: string): Promise<Stored<NameRow> | undefined> {
  const row = await tables.names.get(namePartition(folded), nameRow);
  return row && { value: nameColumns.fromRow(row), version: row.etag };
}

/**
 * Writes the row of a folded name: inserts it, or replaces the version that was read. Returns false after a conflict.
 */
export async function writeName(
  { names }: AuthTables,
  folded: string,
  value: NameRow,
  version: string | undefined,
): Promise<boolean> {
  const row = { partitionKey: namePartition(folded), rowKey: nameRow, ...nameColumns.toColumns(value) };
  return (await (version === undefined ? names.insert(row) : names.replace(row, version))) !== undefined;
}

/** Removes the row of a folded name by the version read. */
export const removeName = ({ names }: AuthTables, folded: string, { version }: Pick<Stored<unknown>, "version">) =>
  names.remove(namePartition(folded), nameRow, version);

/** Returns the id in a reference, or the id to which its name leads; undefined for a name without a row. */
export const locateUser = async (tables: AuthTables, userRef: UserRef): Promise<number | undefined> =>
  userRef.by === "id" ? userRef.id : (await readName(tables, userRef.folded))?.value.id;

/**
 * Returns whether a user has the id or the name of a reference. An unfinished call can leave a name row that leads to
 * another user.
 */
export const matchesUserRef = (userRef: UserRef, { name }: User): boolean =>
  userRef.by === "id" || foldUsername(name) === userRef.folded;

/** A user to whom a reference leads. There may be none with the id. */
interface FoundUser {
  readonly id: number;
  /**
   * Reads the user: first only if the user matches the reference, and then the same user, who may be renamed between the
   * attempts of a change.
   */
  read(): Promise<Stored<User> | undefined>;
}

/** Finds the user of a reference. Returns undefined for a name without a row. */
export async function findUser(tables: AuthTables, userRef: UserRef): Promise<FoundUser | undefined> {
  const id = await locateUser(tables, userRef);
  if (id === undefined) return undefined;
  let isFirst = true;
  const read = async () => {
    const user = userIn(await tables.users.get(idKey(id), userRow));
    if (user === undefined || (isFirst && !matchesUserRef(userRef, user.value))) return undefined;
    isFirst = false;
    return user;
  };
  return { id, read };
}

/** Reads the user of a reference. Returns undefined if there is none. */
export const readUser = async (tables: AuthTables, userRef: UserRef): Promise<Stored<User> | undefined> =>
  (await findUser(tables, userRef))?.read();

/** Minimum time that the writer of a hint gets to make it true. */
const finishMs = 100;

/**
 * Returns a function that waits, in one call, for the writer of a version of a hint. It returns false, without a wait,
 * if it has waited for that version before. Without the wait, several calls that want one name could displace each
 * other for ever. The times are random and grow, so that one of the calls finishes.
 */
export function waitOncePerVersion({ sleep, random }: AuthTables) {
  const known = new Set<string>();
  return async (version: string): Promise<boolean> => {
    if (known.has(version)) return false;
    known.add(version);
    const [share = 0] = random(1);
    await sleep(finishMs * (1 + (share / 256) * known.size));
    return true;
  };
}

/**
 * Makes the name of a row free that was read, so that the caller may replace the row by its version. Returns the user
 * who has the name; `conflict` if the row must be read again. Waits before, for a call that is about to give the name to
 * the user to whom the row leads.
 */
export async function releaseName(
  tables: AuthTables,
  folded: string,
  { value: { id }, version }: Stored<NameRow>,
  wait: ReturnType<typeof waitOncePerVersion>,
): Promise<Stored<User> | "free" | typeof conflict> {
  const row = await tables.users.get(idKey(id), userRow);
  const user = userIn(row);
  if (user !== undefined && foldUsername(user.value.name) === folded) return user;
  if (await wait(version)) return conflict;
  return (await endPendingWrites(tables, id, row)) ? "free" : conflict;
}

/**
 * Makes sure that no call that is under way gives a user what the user does not have, before the caller removes or
 * replaces a hint: an existing user gets another version (rule R1). In the place of an absent one it inserts a
 * tombstone, the row of a deleted user, who is then never created (R2). Returns false after a conflict.
 * @param row the row `user` as read
 */
export async function endPendingWrites(tables: AuthTables, id: number, row: Row | undefined): Promise<boolean> {
  if (row !== undefined) return isGone(row) || touchRow(tables.users, row);
  await sendNotices(tables, [{ id }]);
  const gone = { partitionKey: idKey(id), rowKey: userRow, ...goneColumns.toColumns({ gone: true }) };
  return (await tables.users.insert(gone)) !== undefined;
}

/** Reads the rows of the user of a reference. Returns undefined if there is no such user. */
export async function readRowsOf(
  tables: AuthTables,
  userRef: UserRef,
): Promise<{ readonly user: User; readonly rows: OwnRows } | undefined> {
  const id = await locateUser(tables, userRef);
  if (id === undefined) return undefined;
  const rows = await readUserRows(tables, id);
  const user = userIn(rows.user)?.value;
  return user && matchesUserRef(userRef, user) ? { user, rows } : undefined;
}
