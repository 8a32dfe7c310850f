import type { UserRef } from "../../../auth/store.ts";
import type { Row } from "../../tables/tables.ts";
import { assignedPrefix, keyRow, ownerOf, userRow } from "../rows/rows.ts";
import type { AuthTables } from "../rows/tables.ts";
import { readAtUser } from "./locate-user.ts";

/** Reads an OTP key and its attributes, including attributes of deleted keys: all rows that sort before the index rows of holders. */
export const keyWithAttributes = (
  { otpkeys }: AuthTables,
  prefix: string,
  select?: readonly string[],
): Promise<readonly Row[]> =>
  Array.fromAsync(
    otpkeys.query({ partitionKey: prefix, before: `${keyRow}:` }, select === undefined ? {} : { select }),
  );

/** Returns whether the OTP key with that id is assigned to the user. */
export type IsAssigned = (keyId: number) => boolean;

/** Reads an assignment. Compares the key's id only when the returned function is called, so the key can be read in parallel. */
export async function readAssignment(tables: AuthTables, userRef: UserRef, prefix: string): Promise<IsAssigned> {
  const { users } = tables;
  const read = (userHash: string) =>
    Promise.all([users.get(userHash, userRow), users.get(userHash, assignedPrefix + prefix)]);
  const found = await readAtUser(
    tables,
    userRef,
    read,
    ([user]) => user,
    ([user, assigned]) => ownerOf(assigned) === ownerOf(user),
  );
  const [id, row] = [ownerOf(found?.user), found?.result[1]];
  return keyId => id !== undefined && ownerOf(row) === id && row?.keyId === keyId;
}
