import type { UserRef } from "../../../auth/store.ts";
import { readAllRows } from "../../tables/many.ts";
import type { Row } from "../../tables/tables.ts";
import { assignedPrefix, keyRow, ownerOf, userRow } from "../rows/rows.ts";
import type { AuthTables } from "../rows/tables.ts";
import { ifMatches, locate } from "./locate.ts";

/** The key and its attributes, left ones too: all of the partition that sorts before the users who have it. */
export const keyWithAttributes = (
  { otpkeys }: AuthTables,
  prefix: string,
  select?: readonly string[],
): Promise<readonly Row[]> =>
  readAllRows(otpkeys.query({ partitionKey: prefix, before: `${keyRow}:` }, select === undefined ? {} : { select }));

/** Whether the key of that id is assigned to the user. */
export type IsAssigned = (keyId: number) => boolean;

/** Reads the assignment, whatever becomes of the key meanwhile: so it is read side by side with it. */
export async function assignmentOf(shelves: AuthTables, whom: UserRef, prefix: string): Promise<IsAssigned> {
  const { users } = shelves;
  const at = await locate(shelves, whom);
  if (at === undefined) return () => false;
  const [named, row] = await Promise.all([
    users.get(at.handle, userRow),
    users.get(at.handle, assignedPrefix + prefix),
  ]);
  const id = ownerOf(ifMatches(named, at));
  return keyId => id !== undefined && ownerOf(row) === id && row?.keyId === keyId;
}
