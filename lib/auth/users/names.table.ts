import * as z from "zod";
import { conflict, type Immutable, type Stored } from "../../platform/stored.ts";
import { touchRow } from "../../platform/tables/row-batches.ts";
import { rowColumns } from "../../platform/tables/row-columns.ts";
import { sendNotices } from "../storage/hints.table.ts";
import { type AuthTables, idKey, namePartition, nameRow, schemaVersion } from "../storage/tables.table.ts";
import type { User } from "../store.ts";
import { goneColumns, userIn, userRow } from "./user-rows.table.ts";
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

/**
 * Reads the user of a reference whose id is known. Returns undefined if that user does not match the reference.
 * @param id the id to which the reference leads
 */
export async function readLocated(tables: AuthTables, userRef: UserRef, id: number): Promise<Stored<User> | undefined> {
  const user = userIn(await tables.users.get(idKey(id), userRow));
  return user && matchesUserRef(userRef, user.value) ? user : undefined;
}

/** Reads the user of a reference. Returns undefined if there is none. */
export async function readUser(tables: AuthTables, userRef: UserRef): Promise<Stored<User> | undefined> {
  const id = await locateUser(tables, userRef);
  return id === undefined ? undefined : readLocated(tables, userRef, id);
}

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
 * who has the name; `conflict` if the row must be read again. The user to whom the row leads cannot get the name by it
 * any more: an existing one gets another version (rule R1), in the place of an absent one there is a deleted user (R2).
 * Waits before, for a call that is about to give that user the name.
 */
export async function releaseName(
  tables: AuthTables,
  folded: string,
  row: Stored<NameRow>,
  wait: ReturnType<typeof waitOncePerVersion>,
): Promise<Stored<User> | "free" | typeof conflict> {
  const { users } = tables;
  const { id } = row.value;
  const found = await users.get(idKey(id), userRow);
  const user = userIn(found);
  if (user !== undefined && foldUsername(user.value.name) === folded) return user;
  if (await wait(row.version)) return conflict;
  if (found !== undefined && user !== undefined) return (await touchRow(users, found)) ? "free" : conflict;
  if (found !== undefined) return "free";
  return (await insertTombstone(tables, id)) ? "free" : conflict;
}

/**
 * Inserts a tombstone, the row of a deleted user, in the place of an absent user, who is then never created (R2).
 * Returns false if there is a row now.
 */
export async function insertTombstone(tables: AuthTables, id: number): Promise<boolean> {
  await sendNotices(tables, [{ id }]);
  const gone = { partitionKey: idKey(id), rowKey: userRow, ...goneColumns.toColumns({ gone: true }) };
  return (await tables.users.insert(gone)) !== undefined;
}
