import type { AttributeHead } from "../../../auth/model/attributes.ts";
import { conflict } from "../../../retry-on-conflict.ts";
import type { Value } from "../../tables/entity.ts";
import { finishOrLog } from "../../tables/finish-or-log.ts";
import { parseRow } from "../../tables/row-schema.ts";
import type { Row, Table } from "../../tables/tables.ts";
import { rowAction } from "../rows/row-actions.ts";
import { idSchema } from "../rows/row-schemas.ts";
import {
  assignedPrefix,
  attributePrefix,
  attributeUsersKey,
  headIn,
  headRow,
  holderPrefix,
  idKey,
  ownerOf,
  schemaVersion,
  userRow,
} from "../rows/rows.ts";
import type { AuthTables } from "../rows/tables.ts";
import { readAtUser, userHashIn } from "./locate-user.ts";
import { headActions, type Snapshot } from "./user-snapshot.ts";

/** An attribute or an assignment, by which filters find users: a row in the user's partition, and an index row that points to the user. */
export interface IndexEntry {
  readonly rowKey: string;
  readonly columns: Readonly<Record<string, Value>>;
  /** Location of the index rows of this entry: one for each user, sorted by id. */
  readonly index: {
    readonly table: Table;
    readonly partitionKey: string;
    readonly rowKeyPrefix: string;
    readonly columns: Readonly<Record<string, Value>>;
  };
}

export const attributeEntry = ({ attributeUsers }: AuthTables, key: string, value: string): IndexEntry => ({
  rowKey: attributePrefix + key,
  columns: { value },
  index: { table: attributeUsers, partitionKey: attributeUsersKey(key, value), rowKeyPrefix: "", columns: {} },
});

/** Returns the entry of an assignment. @param keyId absent: any key with the prefix, because a deleted key has no assignments */
export const assignmentEntry = ({ otpkeys }: AuthTables, prefix: string, keyId?: number): IndexEntry => ({
  rowKey: assignedPrefix + prefix,
  columns: keyId === undefined ? {} : { keyId },
  index: {
    table: otpkeys,
    partitionKey: prefix,
    rowKeyPrefix: holderPrefix,
    columns: keyId === undefined ? {} : { id: keyId },
  },
});

/** Returns whether a user's row contains this entry. */
export const matchesEntry = (row: Row | undefined, id: number, { columns }: IndexEntry): boolean =>
  ownerOf(row) === id && Object.entries(columns).every(([name, value]) => row?.[name] === value);

export const indexRowOf = (
  { now }: AuthTables,
  { userHash, id }: { userHash: string; id: number },
  { index }: IndexEntry,
) => ({
  rowKey: index.rowKeyPrefix + idKey(id),
  schema: schemaVersion,
  ...index.columns,
  userHash,
  writtenAt: now(),
});

/**
 * Replaces one entry by another. Writes the new index row first, then the entry and the head row in one transaction by the versions
 * read, and removes the old index row last, so that every true entry has its index row at every moment (A11). Returns false
 * after a conflict; then read the snapshot again.
 * @param change `announce` writes the new index row; default: an upsert
 */
export async function changeEntry(
  tables: AuthTables,
  snapshot: Snapshot,
  change: {
    readonly was: IndexEntry | undefined;
    readonly is: IndexEntry | undefined;
    readonly head: AttributeHead;
    readonly announce?: () => Promise<boolean>;
  },
): Promise<boolean> {
  const { userHash, id, row } = snapshot;
  const { was, is, announce = () => upsertIndexRow(tables, { userHash, id }, is) } = change;
  const [announced, former] = await Promise.all([announce(), was && indexRow(was, id)]);
  if (!announced) return false;
  const written = await tables.users.transact(userHash, [
    ...headActions(snapshot, change.head),
    ...(is ? [rowAction(row, { rowKey: is.rowKey, id, ...is.columns })] : []),
    ...(!is && row ? [{ remove: { rowKey: row.rowKey }, etag: row.etag }] : []),
  ]);
  if (written === undefined) return false;
  if (was && former) {
    await finishOrLog(tables.log, () => was.index.table.remove(former.partitionKey, former.rowKey, former.etag));
  }
  return true;
}

const indexRow = ({ index }: IndexEntry, id: number) =>
  index.table.get(index.partitionKey, index.rowKeyPrefix + idKey(id));

async function upsertIndexRow(
  tables: AuthTables,
  user: { userHash: string; id: number },
  entry: IndexEntry | undefined,
) {
  if (entry !== undefined) {
    const { table, partitionKey } = entry.index;
    await table.upsert({ partitionKey, ...indexRowOf(tables, user, entry) });
  }
  return true;
}

/**
 * Removes an index row that was read. With `keepEntry` false also removes the entry that it points to. Rewrites the head row first,
 * so that a writer between writing the index row and the entry gets a conflict and starts again. `kept`: the entry is true.
 */
export async function removeIndexRow(
  tables: AuthTables,
  entry: IndexEntry,
  pointed: Row,
  { keepEntry }: { readonly keepEntry: boolean },
): Promise<"removed" | "kept" | typeof conflict> {
  const { users } = tables;
  const pointer = userReferencedBy(entry, pointed);
  const { id } = pointer;
  const read = async (userHash: string) => {
    const head = await users.get(userHash, headRow);
    const [user, row] = await Promise.all([users.get(userHash, userRow), users.get(userHash, entry.rowKey)]);
    return { head, user, row };
  };
  const found = await readAtUser(tables, { by: "userHash", ...pointer }, read, ({ user }) => user);
  if (found === undefined) return "removed";
  const { userHash, user, result } = found;
  const { head, row } = result;
  const isTrue = matchesEntry(row, id, entry);
  if (user !== undefined) {
    if (isTrue && keepEntry) return "kept";
    const remove = isTrue && row ? [{ remove: { rowKey: row.rowKey }, etag: row.etag }] : [];
    const written = await users.transact(userHash, [...headActions({ id, user, head }, headIn(head, id)), ...remove]);
    if (written === undefined) return conflict;
  } else if (isTrue && row) {
    await users.remove(userHash, row.rowKey, row.etag);
  }
  await entry.index.table.remove(pointed.partitionKey, pointed.rowKey, pointed.etag);
  return "removed";
}

/** Returns the user to whom an index row points. */
export const userReferencedBy = ({ index }: IndexEntry, row: Row): { userHash: string; id: number } => ({
  userHash: userHashIn(row),
  id: parseRow("index", row, idSchema, Number(row.rowKey.slice(index.rowKeyPrefix.length))),
});
