import * as z from "zod";
import { type Immutable, type Stored, storedInstant } from "../../platform/stored.ts";
import { checkVersion, parseRow, rowColumns } from "../../platform/tables/row-columns.ts";
import type { Action, Row } from "../../platform/tables/tables.ts";
import type { Instant } from "../../platform/time.ts";
import { attributeColumns, attributesRow } from "../attributes/attribute-rows.table.ts";
import type { Attributes } from "../attributes/attributes.ts";
import type { StoredPassword } from "../passwords/password-hash.ts";
import { type AuthTables, idKey, schemaVersion } from "../storage/tables.table.ts";
import { assignedSchema, type User, type UserSummary, userSchema } from "../store.ts";

export const userRow = "user";
export const loginRow = "login";

/** The columns of the row `user`. Its partition is the id. */
export const userColumns = rowColumns<User, "id">({ kind: "user", version: schemaVersion, keyed: ["id"] }, userSchema);

/**
 * A row `user` that is no user: of a deleted user until everything else is removed, or without a name in the place of a
 * user whose creation was not finished, so that it never is.
 */
const goneSchema = () =>
  z.object({
    gone: z.literal(true),
    /** Random, of the deletion. */
    by: z.string().exactOptional(),
    name: z.string().exactOptional(),
    otpkeys: assignedSchema.exactOptional(),
  });

export const goneColumns = rowColumns<Immutable<z.output<ReturnType<typeof goneSchema>>>>(
  { kind: "deleted user", version: schemaVersion },
  goneSchema,
);

/** The row `login`; without `at` there was no sign-in yet. */
export const loginColumns = rowColumns({ kind: "login", version: schemaVersion }, () =>
  z.object({ at: storedInstant.exactOptional() }),
);

export const isGone = (row: Row): boolean => row.gone === true;

const idOf = ({ partitionKey }: Row): number => Number(partitionKey);

/** Returns the user of a row `user`; undefined if there is none. Throws a `RowError` for a row that cannot be read. */
export function userIn(row: Row | undefined): Stored<User> | undefined {
  if (row === undefined || isGone(row)) return undefined;
  return { value: userColumns.fromRow(row, { id: idOf(row) }), version: row.etag };
}

/** Returns id and name of a row `user` of which only these columns were read; undefined for a deleted user. */
export function summaryIn(row: Row): UserSummary | undefined {
  if (isGone(row)) return undefined;
  checkVersion("user", row, schemaVersion);
  return { id: idOf(row), name: parseRow("user", row, z.string(), row.name) };
}

/** Columns of `summaryIn`. */
export const summarySelect = ["schema", "gone", "name", "enabled"];

/** Returns whether the password of a row `user` is an imported hash. Reads the column `password` alone. */
export const hasImportedHash = ({ password }: Row): boolean =>
  typeof password === "string" && (JSON.parse(password) as Partial<StoredPassword>).imported !== undefined;

export const lastLoginIn = (row: Row | undefined): Instant | undefined => row && loginColumns.fromRow(row).at;

/** The three rows of a user, as far as they exist. They are inserted and removed together. */
export interface UserRows {
  readonly user?: Row;
  readonly login?: Row;
  readonly attributes?: Row;
}

/** Reads the rows of a user, in one call. */
export async function readUserRows({ users }: AuthTables, id: number): Promise<UserRows> {
  const rows = await Array.fromAsync(users.query({ partitionKey: idKey(id) }));
  const named = (name: string) => rows.find(({ rowKey }) => rowKey === name);
  const [user, login, attributes] = [named(userRow), named(loginRow), named(attributesRow)];
  return { ...(user && { user }), ...(login && { login }), ...(attributes && { attributes }) };
}

/** Returns the rows of a user to write, without their partition. */
export const userParts = (user: User, attributes: Attributes = {}, lastLogin?: Instant) => [
  { rowKey: userRow, ...userColumns.toColumns(user) },
  { rowKey: loginRow, ...loginColumns.toColumns(lastLogin === undefined ? {} : { at: lastLogin }) },
  { rowKey: attributesRow, ...attributeColumns(attributes) },
];

/** Replaces the row `user` by version. Returns the user as stored; undefined after a conflict. */
export async function replaceUser(
  { users }: AuthTables,
  user: User,
  version: string,
): Promise<Stored<User> | undefined> {
  const row = { partitionKey: idKey(user.id), rowKey: userRow, ...userColumns.toColumns(user) };
  const etag = await users.replace(row, version);
  return etag === undefined ? undefined : { value: user, version: etag };
}

/** Returns the action that changes the version of a row and nothing else. */
export const touchAction = ({ rowKey, etag, schema }: Row): Action => ({
  merge: { rowKey, schema: Number(schema) },
  etag,
});
