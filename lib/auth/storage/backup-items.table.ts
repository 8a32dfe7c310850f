import type { Log } from "../../platform/log.ts";
import type { Backup, BackupScope } from "../../platform/maintenance/read-backup.ts";
import { forEachItem } from "../../platform/maintenance/restore.ts";
import { partitions } from "../../platform/tables/row-batches.ts";
import type { Entity, Row } from "../../platform/tables/tables.ts";
import type { Instant } from "../../platform/time.ts";
import { attributesIn, attributesRow } from "../attributes/attribute-rows.table.ts";
import type { Attributes } from "../attributes/attributes.ts";
import { keyIn, keyRowsIn } from "../otpkeys/key-rows.table.ts";
import { spentColumns } from "../otpkeys/otpkeys.table.ts";
import type { OtpKey, User } from "../store.ts";
import { lastLoginIn, loginRow, userIn, userRow } from "../users/user-rows.table.ts";
import { holderPrefix } from "./hints.table.ts";

/**
 * The tables that a backup of the authentication server copies. Names and indexes are written again; sessions,
 * throttles and addresses are dropped.
 */
export const authBackedUp: BackupScope = {
  service: "auth",
  tables: ["otpkeys", "users", "spentotps"],
  containers: [],
};

interface AuthWork {
  key(item: KeyItem): Promise<void>;
  user(item: UserItem): Promise<void>;
  spent(item: { readonly prefix: string; readonly hash: string; readonly ends: Instant }): Promise<void>;
}

/** Reads every item of a backup: OTP keys before users. Returns the number of unreadable items. */
export async function forEachAuthItem(backup: Backup, work: AuthWork, log: Log): Promise<number> {
  const keys = await forEachItem(partitions(withoutHolders(backup.rows("otpkeys"))), readKey, work.key, log);
  const users = await forEachItem(partitions(backup.rows("users")), readUser, work.user, log);
  return keys + users + (await forEachItem(backup.rows("spentotps"), readSpent, work.spent, log));
}

/** Drops the index rows of holders: there may be too many for memory, and the users' rows contain the assignments. */
async function* withoutHolders(rows: AsyncIterable<Entity>): AsyncGenerator<Entity> {
  for await (const row of rows) if (!row.rowKey.startsWith(holderPrefix)) yield row;
}

interface KeyItem {
  readonly key: OtpKey;
  readonly attributes: Attributes;
}

export interface UserItem {
  readonly user: User;
  readonly attributes: Attributes;
  readonly lastLogin?: Instant;
}

const asRow = (row: Entity): Row => ({ ...row, etag: "" });

/** Parses the rows of an OTP key. */
function readKey(rows: readonly Entity[]): KeyItem | undefined {
  const { key, attributes } = keyRowsIn(rows.map(asRow));
  return key && { key: keyIn(key).value, attributes: attributesIn(attributes) };
}

/** Parses the rows of a user. Returns undefined for a deleted user. */
function readUser(rows: readonly Entity[]): UserItem | undefined {
  const named = (name: string) => rows.map(asRow).find(({ rowKey }) => rowKey === name);
  const user = userIn(named(userRow))?.value;
  const lastLogin = lastLoginIn(named(loginRow));
  const attributes = attributesIn(named(attributesRow));
  return user && { user, attributes, ...(lastLogin !== undefined && { lastLogin }) };
}

function readSpent(row: Entity) {
  return { prefix: row.partitionKey, hash: row.rowKey, ends: spentColumns.fromRow(asRow(row)).ends };
}

const nothing = async () => {};

/** Reads the whole backup as `restoreAuth` does. Returns the number of unreadable items. */
export const verifyAuth = (backup: Backup, log: Log): Promise<number> =>
  forEachAuthItem(backup, { key: nothing, user: nothing, spent: nothing }, log);
