import * as z from "zod";
import { rowColumns } from "../../platform/azure/row-columns.ts";
import type { Row } from "../../platform/azure/tables.ts";
import { type Immutable, type Stored, storedInstant } from "../../platform/stored.ts";
import type { Instant } from "../../platform/time.ts";
import { attributeColumns, attributesRow } from "../attributes/attribute-rows.table.ts";
import type { Attributes } from "../attributes/attributes.ts";
import { assignedSchema, type User, userSchema } from "../store.ts";
import { type AuthTables, byRowKey, idKey, type OwnRows, replaceRow, schemaVersion } from "../tables.table.ts";

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

/** Returns the user of a row `user`; undefined if there is none. Throws a `RowError` for a row that cannot be read. */
export function userIn(row: Row | undefined): Stored<User> | undefined {
  if (row === undefined || isGone(row)) return undefined;
  return { value: userColumns.fromRow(row, { id: Number(row.partitionKey) }), version: row.etag };
}

export const lastLoginIn = (row: Row | undefined): Instant | undefined => row && loginColumns.fromRow(row).at;

/** Reads the rows of a user, in one call. */
export const readUserRows = async ({ users }: AuthTables, id: number): Promise<OwnRows> =>
  byRowKey(await Array.fromAsync(users.query({ partitionKey: idKey(id) })));

/** Returns the rows of a user to write, without their partition. */
export const userParts = (user: User, attributes: Attributes = {}, lastLogin?: Instant) => [
  { rowKey: userRow, ...userColumns.toColumns(user) },
  { rowKey: loginRow, ...loginColumns.toColumns(lastLogin === undefined ? {} : { at: lastLogin }) },
  { rowKey: attributesRow, ...attributeColumns(attributes) },
];

/** Returns the row `user` to write. */
export const rowOf = (user: User) => ({
  partitionKey: idKey(user.id),
  rowKey: userRow,
  ...userColumns.toColumns(user),
});

/** Writes a user by the version that was read. Returns the user as stored; undefined after a conflict. */
export async function replaceUser(
  tables: AuthTables,
  { version }: Stored<User>,
  next: User,
): Promise<Stored<User> | undefined> {
  const written = await replaceRow(tables, tables.users, rowOf(next), version);
  return written === undefined ? undefined : { value: next, version: written };
}
