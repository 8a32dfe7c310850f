import type { AssignedKey, OtpKey, User } from "../../auth/store.ts";
import type { Log } from "../../log.ts";
import type { Instant } from "../../time.ts";
import type { BackupScope } from "../maintenance/backup-files.ts";
import type { Backup } from "../maintenance/read-backup.ts";
import { forEachItem } from "../maintenance/restore.ts";
import { partitions } from "../tables/row-batches.ts";
import { parseRow } from "../tables/row-schema.ts";
import type { Entity, Row } from "../tables/tables.ts";
import { pointerId } from "./index/ids.ts";
import { renamedIn, renamedUserIn } from "./rows/renamed-rows.ts";
import { endsSchema, pointerSchema } from "./rows/row-schemas.ts";
import {
  assignedKeyIn,
  assignedPrefix,
  attributePrefix,
  checkedVersion,
  fromKeyRow,
  fromUserRow,
  holderPrefix,
  keyRow,
  lastLoginIn,
  loginRow,
  ownerOf,
  toUserColumns,
  userRow,
  valueIn,
} from "./rows/rows.ts";
import { type Home, homesOf } from "./user-homes.ts";

/** The tables that a backup of the authentication server copies. Lists and indexes are rebuilt; sessions and throttles are dropped. */
export const authBackedUp: BackupScope = {
  service: "auth",
  tables: ["otpkeys", "users", "ids", "spentotps"],
  containers: [],
};

export interface AuthWork {
  key(item: KeyItem): Promise<void>;
  user(item: UserItem): Promise<void>;
  pointer(row: Entity): Promise<void>;
  spent(item: { readonly prefix: string; readonly hash: string; readonly ends: Instant }): Promise<void>;
}

/** Reads every item of a backup: OTP keys before users, pointers last. Returns the number of unreadable items. */
export async function forEachAuthItem(backup: Backup, work: AuthWork, log: Log): Promise<number> {
  const keys = await forEachItem(partitions(withoutHolders(backup.rows("otpkeys"))), readKey, work.key, log);
  const homes = await homesOf(backup);
  const read = (rows: readonly Entity[]) => readUser(rows, homes);
  const users = await forEachItem(partitions(backup.rows("users")), read, work.user, log);
  const readAt = (row: Entity) => readPointer(row, homes);
  const pointers = await forEachItem(backup.rows("ids"), readAt, work.pointer, log);
  return keys + users + pointers + (await forEachItem(backup.rows("spentotps"), readSpent, work.spent, log));
}

/** Drops the index rows of holders: there may be too many for memory, and the users' rows contain the assignments. */
async function* withoutHolders(rows: AsyncIterable<Entity>): AsyncGenerator<Entity> {
  for await (const row of rows) if (!row.rowKey.startsWith(holderPrefix)) yield row;
}

export interface KeyItem {
  readonly key: OtpKey;
  readonly attributes: readonly AttributeRow[];
}

export interface UserItem {
  readonly user: User;
  readonly row: Entity;
  /** The row that records the last sign-in. */
  readonly login?: Entity;
  readonly attributes: readonly AttributeRow[];
  readonly assigned: readonly { readonly row: Entity; readonly key: AssignedKey }[];
}

export interface AttributeRow {
  readonly row: Entity;
  readonly key: string;
  readonly value: string;
}

/** Parses the rows of an OTP key. Returns undefined for remaining rows of a deleted key. */
function readKey(rows: readonly Entity[]): KeyItem | undefined {
  const row = rows.find(({ rowKey }) => rowKey === keyRow);
  if (row === undefined) return undefined;
  const { value: key } = fromKeyRow(asRow(row));
  return { key, attributes: readAttributes(rows, key.id) };
}

/**
 * Parses the rows of a user. Returns undefined for remaining rows of a deleted user, for a claim of a name, and for
 * rows of a renamed user that are not restored.
 */
function readUser(found: readonly Entity[], homes: ReadonlyMap<number, Home>): UserItem | undefined {
  const first = found.find(({ rowKey }) => rowKey === userRow);
  if (first === undefined) return undefined;
  const renamed = renamedIn(asRow(first));
  const home = homes.get(Number(renamed?.renamed ?? first.id));
  if (renamed !== undefined && home?.from !== first.partitionKey) return undefined;
  if (home !== undefined && (home.from !== first.partitionKey || home.isDeleted)) return undefined;
  const partitionKey = home?.userHash ?? first.partitionKey;
  const rows = found.map(each => ({ ...each, partitionKey }));
  const own = { ...first, partitionKey };
  const read =
    renamed === undefined ? own : { ...toUserColumns(renamedUserIn(asRow(first))), partitionKey, rowKey: userRow };
  const row = home?.name === undefined ? read : { ...read, name: home.name };
  const { value: user } = fromUserRow(asRow(row));
  const assigned = rows
    .filter(each => each.rowKey.startsWith(assignedPrefix) && ownerOf(asRow(each)) === user.id)
    .map(each => ({ row: each, key: assignedKeyIn(asRow(each)) }));
  const login = rows.find(each => each.rowKey === loginRow && lastLoginIn(asRow(each), user.id) !== undefined);
  return { user, row, ...(login && { login }), attributes: readAttributes(rows, user.id), assigned };
}

const readAttributes = (rows: readonly Entity[], owner: number): readonly AttributeRow[] =>
  rows
    .filter(({ rowKey }) => rowKey.startsWith(attributePrefix))
    .flatMap(row => {
      const value = valueIn(asRow(row), owner);
      return value === undefined ? [] : [{ row, key: row.rowKey.slice(attributePrefix.length), value }];
    });

/**
 * Parses a pointer. All pointers are restored, so that the id of a deleted user is never used again (A3). They are inserted before
 * their owners, and backed up last, so a backup contains the pointer of every owner.
 */
function readPointer(row: Entity, homes: ReadonlyMap<number, Home>): Entity | undefined {
  const id = pointerId(row);
  if (id === undefined) return undefined;
  const { list } = parseRow("pointer", checkedVersion(asRow(row)), pointerSchema, row);
  const home = homes.get(id);
  return home === undefined || list !== "users" ? row : { ...row, userHash: home.userHash };
}

function readSpent(row: Entity) {
  const { ends } = parseRow("spent OTP", checkedVersion(asRow(row)), endsSchema, row);
  return { prefix: row.partitionKey, hash: row.rowKey, ends };
}

const nothing = async () => {};

/** Reads the whole backup as `restoreAuth` does. Returns the number of unreadable items. */
export const verifyAuth = (backup: Backup, log: Log): Promise<number> =>
  forEachAuthItem(backup, { key: nothing, user: nothing, pointer: nothing, spent: nothing }, log);

const asRow = (row: Entity): Row => ({ ...row, etag: "" });
