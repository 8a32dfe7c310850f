import type { AttributeHead } from "../../../auth/model/attributes.ts";
import type { Value } from "../../tables/entity.ts";
import { parseRow } from "../../tables/row-schema.ts";
import type { Action, Row, Table } from "../../tables/tables.ts";
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
import { type Address, handleIn, ifMatches } from "./locate.ts";

/** What users are found by, an attribute or an assigned key: a row of the user's, and the index row that points to the user. */
export interface IndexEntry {
  readonly rowKey: string;
  readonly columns: Readonly<Record<string, Value>>;
  /** Where index rows of this fact stand, one a user, in the order of ids. */
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

/** @param keyId absent: of whatever key has the prefix, as there is none that is assigned and gone */
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

/** Whether the row says this of that user. */
export const agrees = (row: Row | undefined, id: number, { columns }: IndexEntry): boolean =>
  ownerOf(row) === id && Object.entries(columns).every(([name, value]) => row?.[name] === value);

/** What a change of a user's facts is decided on. `row` is the fact's. */
export interface Snapshot {
  readonly handle: string;
  readonly id: number;
  readonly head: Row | undefined;
  readonly row: Row | undefined;
}

/**
 * Reads what a change needs, all at once. Undefined where there is no such user.
 */
export async function snapshotOf({ users }: AuthTables, at: Address, rowKey: string): Promise<Snapshot | undefined> {
  const { handle } = at;
  const [user, head, row] = await Promise.all([
    users.get(handle, userRow),
    users.get(handle, headRow),
    users.get(handle, rowKey),
  ]);
  const id = ownerOf(ifMatches(user, at));
  if (id === undefined) return undefined;
  if (isOf(head, id) && isOf(row, id)) return { handle, id, head, row };
  // Left by a former owner, or written by the next one while the three were read: only the former may be overwritten.
  const still = await users.get(handle, userRow);
  return ownerOf(still) === id ? { handle, id, head, row } : undefined;
}

const isOf = (row: Row | undefined, id: number) => row === undefined || ownerOf(row) === id;

/** Writes a head row by the version that was read, absence included. */
export function headAction(head: Row | undefined, id: number, next: AttributeHead): Action {
  const row = { rowKey: headRow, schema: schemaVersion, id, ...next };
  return head === undefined ? { insert: row } : { replace: row, etag: head.etag };
}

/** Writes a row by the version that was read, absence included. */
export function rowAction(row: Row | undefined, next: { readonly rowKey: string } & Record<string, Value>): Action {
  const written = { schema: schemaVersion, ...next };
  return row === undefined ? { insert: written } : { replace: written, etag: row.etag };
}

export const indexRowOf = (
  { now }: AuthTables,
  { handle, id }: { handle: string; id: number },
  { index }: IndexEntry,
) => ({
  rowKey: index.rowKeyPrefix + idKey(id),
  schema: schemaVersion,
  ...index.columns,
  handle,
  writtenAt: now(),
});

/**
 * Puts one fact in another's place, by decision A11: its index row before, the former's after, and between them one transaction
 * with the head row by the version read before both. False where another was faster; then nothing is wrong, and
 * all is to be read again.
 * @param change `announce` writes the new index row, by default as it is
 */
export async function changeEntry(
  shelves: AuthTables,
  { handle, id, head, row }: Snapshot,
  change: {
    readonly was: IndexEntry | undefined;
    readonly is: IndexEntry | undefined;
    readonly head: AttributeHead;
    readonly announce?: () => Promise<boolean>;
  },
): Promise<boolean> {
  const { was, is, announce = () => upsertIndexRow(shelves, { handle, id }, is) } = change;
  const [announced, former] = await Promise.all([announce(), was && indexRow(was, id)]);
  if (!announced) return false;
  const written = await shelves.users.transact(handle, [
    headAction(head, id, change.head),
    ...(is ? [rowAction(row, { rowKey: is.rowKey, id, ...is.columns })] : []),
    ...(!is && row ? [{ remove: { rowKey: row.rowKey }, etag: row.etag }] : []),
  ]);
  if (written === undefined) return false;
  if (was && former) await was.index.table.remove(former.partitionKey, former.rowKey, former.etag);
  return true;
}

const indexRow = ({ index }: IndexEntry, id: number) =>
  index.table.get(index.partitionKey, index.rowKeyPrefix + idKey(id));

async function upsertIndexRow(shelves: AuthTables, user: { handle: string; id: number }, fact: IndexEntry | undefined) {
  if (fact !== undefined) {
    const { table, partitionKey } = fact.index;
    await table.upsert({ partitionKey, ...indexRowOf(shelves, user, fact) });
  }
  return true;
}

/**
 * Removes an index row that was read, and the user's row where it says the fact and the fact shall go. The head row is rewritten
 * first, so that a writer who wrote the index row before it was read, and not yet the fact, begins again (decision A11). False
 * where another was faster.
 */
export async function removeIndexRow(
  shelves: AuthTables,
  fact: IndexEntry,
  pointed: Row,
  { keepFact }: { readonly keepFact: boolean },
): Promise<boolean> {
  const { users } = shelves;
  const { handle, id } = referencedBy(fact, pointed);
  const head = await users.get(handle, headRow);
  const [user, row] = await Promise.all([users.get(handle, userRow), users.get(handle, fact.rowKey)]);
  const holds = agrees(row, id, fact);
  if (ownerOf(user) === id) {
    if (holds && keepFact) return true;
    const remove = holds && row ? [{ remove: { rowKey: row.rowKey }, etag: row.etag }] : [];
    const written = await users.transact(handle, [headAction(head, id, headIn(head, id)), ...remove]);
    if (written === undefined) return false;
  } else if (holds && row) {
    await users.remove(handle, row.rowKey, row.etag);
  }
  await fact.index.table.remove(pointed.partitionKey, pointed.rowKey, pointed.etag);
  return true;
}

/** The user to whom an index row points. */
export const referencedBy = ({ index }: IndexEntry, row: Row): { handle: string; id: number } => ({
  handle: handleIn(row),
  id: parseRow("index", row, idSchema, Number(row.rowKey.slice(index.rowKeyPrefix.length))),
});
