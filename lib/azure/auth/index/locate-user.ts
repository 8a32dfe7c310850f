import type { UserRef } from "../../../auth/store.ts";
import { hashUsername } from "../../../auth/user-hash.ts";
import { parseRow } from "../../tables/row-schema.ts";
import type { Row } from "../../tables/tables.ts";
import { userHashSchema } from "../rows/row-schemas.ts";
import { ownerOf } from "../rows/rows.ts";
import type { AuthTables } from "../rows/tables.ts";
import { readPointer } from "./ids.ts";

/** Location of a user: the partition, and the id that the user there must have. */
export interface UserLocation {
  readonly userHash: string;
  readonly id?: number;
}

/** Returns where a user is, if the user exists. An id costs one read, a name none. */
export async function locateUser(tables: AuthTables, userRef: UserRef): Promise<UserLocation | undefined> {
  if (userRef.by === "name") return { userHash: hashUsername(userRef.folded) };
  if (userRef.by === "userHash") return userRef;
  const pointer = await readPointer(tables, "users", userRef.id);
  return pointer && { userHash: userHashIn(pointer), id: userRef.id };
}

/** Returns the user hash in a row. Throws a `RowError` if it has none. */
export const userHashIn = (row: Row): string => parseRow("pointer", row, userHashSchema, row).userHash;

/** Returns a `user` row if it has the expected id, else undefined. */
export const ifMatches = (row: Row | undefined, { id }: Pick<UserLocation, "id">): Row | undefined =>
  row !== undefined && (id === undefined || ownerOf(row) === id) ? row : undefined;
