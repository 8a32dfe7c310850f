import type { UserRef } from "../../../auth/store.ts";
import { readAllRows } from "../../tables/row-batches.ts";
import type { Row } from "../../tables/tables.ts";
import { assignedPrefix, keyRow, ownerOf, userRow } from "../rows/rows.ts";
import type { AuthTables } from "../rows/tables.ts";
import { ifMatches, locateUser } from "./locate-user.ts";

/** Reads an OTP key and its attributes, including attributes of deleted keys: all rows that sort before the index rows of holders. */
export const keyWithAttributes = (
  { otpkeys }: AuthTables,
  prefix: string,
  select?: readonly string[],
): Promise<readonly Row[]> =>
  readAllRows(otpkeys.query({ partitionKey: prefix, before: `${keyRow}:` }, select === undefined ? {} : { select }));

/** Returns whether the OTP key with that id is assigned to the user. */
export type IsAssigned = (keyId: number) => boolean;

/** Reads an assignment. Compares the key's id only when the returned function is called, so the key can be read in parallel. */
export async function readAssignment(tables: AuthTables, userRef: UserRef, prefix: string): Promise<IsAssigned> {
  const { users } = tables;
  const at = await locateUser(tables, userRef);
  if (at === undefined) return () => false;
  const [user, row] = await Promise.all([
    users.get(at.userHash, userRow),
    users.get(at.userHash, assignedPrefix + prefix),
  ]);
  const id = ownerOf(ifMatches(user, at));
  return keyId => id !== undefined && ownerOf(row) === id && row?.keyId === keyId;
}
