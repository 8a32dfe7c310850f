import type { User } from "../../../auth/store.ts";
import { conflict } from "../../../retry-on-conflict.ts";
import type { Row } from "../../tables/tables.ts";
import { indexRename } from "../clean-up/expiry-index.ts";
import { vacate } from "../clean-up/sweep.ts";
import { endOfRename, isUnderWay, renamedIn, toRenamedColumns } from "../rows/renamed-rows.ts";
import { headIn, headRow, ownerOf, schemaVersion, userRow } from "../rows/rows.ts";
import type { AuthTables } from "../rows/tables.ts";

/** The user as read before the rename, with the row by whose version the rename is committed. */
export interface Source {
  readonly user: User;
  readonly row: Row;
  readonly head: Row | undefined;
}

/** A claim of a name, with the version of the head row that every write of the copy names. */
export interface Claim {
  readonly userHash: string;
  readonly id: number;
  readonly head: string;
}

/**
 * Inserts the row `user` at the new name, which is no user yet. A claim of another attempt, also one of the same user,
 * is removed first, which makes that attempt fail: its commit must not find the claim and the copy of this one.
 */
export async function claimName(
  tables: AuthTables,
  { user, head }: Source,
  next: User,
): Promise<Claim | "taken" | typeof conflict> {
  const { users } = tables;
  const { userHash, id } = next;
  const [existing, headThere] = await Promise.all([users.get(userHash, userRow), users.get(userHash, headRow)]);
  const renamed = renamedIn(existing);
  // Of several users who are given a name at once, the one with the lowest id gets it: none removes the claim of
  // another for ever.
  if (renamed !== undefined && renamed.renamed < id && isUnderWay(renamed, tables.now())) return "taken";
  if (existing !== undefined) return (await freeName(tables, existing)) ? conflict : "taken";
  const former = ownerOf(headThere);
  if (former !== undefined && former !== id) {
    await vacate(tables, { userHash, id: former, name: next.name });
    return conflict;
  }
  const ends = endOfRename(tables.now());
  await indexRename(tables, [user.userHash, userHash], ends);
  const row = { rowKey: userRow, ...toRenamedColumns(next, { from: user.userHash }, ends) };
  const headColumns = { rowKey: headRow, schema: schemaVersion, id, ...headIn(head, id) };
  const written = await users.transact(userHash, [
    { insert: row },
    headThere === undefined ? { insert: headColumns } : { replace: headColumns, etag: headThere.etag },
  ]);
  const version = written?.[1];
  return version === undefined ? conflict : { userHash, id, head: version };
}

/**
 * Makes a name free whose row `user` belongs to a rename: of a user who has left the name, or whose rename to it is not
 * committed. Returns false if a user has the name.
 */
export async function freeName(tables: AuthTables, row: Row): Promise<boolean> {
  const renamed = renamedIn(row);
  if (renamed === undefined) return false;
  await vacate(tables, { userHash: row.partitionKey, id: renamed.renamed, name: String(row.name) });
  return true;
}

/** Removes the claim of a rename that ends without success. */
export async function dropClaim(tables: AuthTables, { userHash, id, name }: User): Promise<void> {
  const row = await tables.users.get(userHash, userRow);
  if (row !== undefined && renamedIn(row)?.renamed === id) await vacate(tables, { userHash, id, name });
}
