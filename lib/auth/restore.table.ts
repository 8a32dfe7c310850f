import { partitions } from "../platform/azure/row-batches.ts";
import type { Entity, Row } from "../platform/azure/tables.ts";
import type { Log } from "../platform/log.ts";
import type { Backup, BackupScope } from "../platform/maintenance/read-backup.ts";
import { forEachItem } from "../platform/maintenance/restore.ts";
import type { Instant } from "../platform/time.ts";
import { attributeColumns, attributesIn, attributesRow } from "./attributes/attribute-rows.table.ts";
import { holderPrefix, indexHints, writeHint } from "./hints.table.ts";
import { newEpoch } from "./ids.ts";
import { keyIn, keyRow, otpKeyColumns } from "./otpkeys/key-rows.table.ts";
import type { OtpWindows } from "./otpkeys/kinds/contract.ts";
import { otpKinds } from "./otpkeys/kinds/kinds.ts";
import { withoutHash } from "./otpkeys/kinds/temporary-code.ts";
import { spendOtp, spentColumns } from "./otpkeys/otpkeys.table.ts";
import { endedCode } from "./passwords/password-code.ts";
import type { OtpKey, User, UserSummary } from "./store.ts";
import { type AuthTables, byRowKey, idKey } from "./tables.table.ts";
import { writeName } from "./users/names.table.ts";
import { isGone, lastLoginIn, userIn, userParts, userRow } from "./users/user-rows.table.ts";
import { foldUsername, usernameMaxCodePoints } from "./users/username.ts";

/**
 * The tables that a backup of the authentication server copies. Names and indexes are written again; sessions,
 * throttles and addresses are dropped.
 */
export const authBackedUp: BackupScope = {
  service: "auth",
  tables: ["otpkeys", "users", "spentotps"],
  containers: [],
};

function readKey(rows: readonly Entity[]) {
  const { key, attributes } = byRowKey(rows.map(asRow));
  return key && { key: keyIn(key).value, attributes: attributesIn(attributes) };
}

function readUser(rows: readonly Entity[]) {
  const { user: row, login, attributes } = byRowKey(rows.map(asRow));
  const user = userIn(row)?.value;
  return user && { user, attributes: attributesIn(attributes), lastLogin: lastLoginIn(login) };
}

const readSpent = (row: Entity) => ({
  prefix: row.partitionKey,
  hash: row.rowKey,
  ends: spentColumns.fromRow(asRow(row)).ends,
});

interface Work {
  key(item: NonNullable<ReturnType<typeof readKey>>): Promise<void>;
  user(item: NonNullable<ReturnType<typeof readUser>>): Promise<void>;
  spent(item: ReturnType<typeof readSpent>): Promise<void>;
}

/** Reads every item of a backup: OTP keys before users. Returns the number of unreadable items. */
async function forEachAuthItem(backup: Backup, work: Work, log: Log): Promise<number> {
  const keys = await forEachItem(partitions(withoutHolders(backup.rows("otpkeys"))), readKey, work.key, log);
  const users = await forEachItem(partitions(backup.rows("users")), readUser, work.user, log);
  return keys + users + (await forEachItem(backup.rows("spentotps"), readSpent, work.spent, log));
}

const asRow = (row: Entity): Row => ({ ...row, etag: "" });

/** Drops the index rows of holders: there may be too many for memory, and the users' rows contain the assignments. */
async function* withoutHolders(rows: AsyncIterable<Entity>): AsyncGenerator<Entity> {
  for await (const row of rows) if (!row.rowKey.startsWith(holderPrefix)) yield row;
}

const nothing = async () => {};

/** Reads the whole backup as `restoreAuth` does. Returns the number of unreadable items. */
export const verifyAuth = (backup: Backup, log: Log): Promise<number> =>
  forEachAuthItem(backup, { key: nothing, user: nothing, spent: nothing }, log);

interface AuthRestored {
  readonly users: number;
  readonly otpkeys: number;
  /** Users who got another name, because a user who was read later had theirs. */
  readonly renamed: readonly UserSummary[];
}

/**
 * Writes the users and OTP keys of a backup into empty tables. Sessions and throttles are not restored, and device
 * tokens that were issued before are no longer valid. No OTP key accepts an OTP that may have been used since the
 * backup. Keeps one file of the backup in memory, prefix and id of every OTP key, and the name of every user.
 * @param uses maximum number of codes (`hotp`) or power-ups (`yubico`) of an OTP key since the backup
 */
export async function restoreAuth(
  backup: Backup,
  tables: AuthTables,
  { uses, windows }: { readonly uses: number; readonly windows: OtpWindows },
): Promise<AuthRestored> {
  const keyIds = new Map<string, number>();
  const owners = await ownersOfNames(backup);
  const renamed: UserSummary[] = [];
  let users = 0;
  await forEachAuthItem(
    backup,
    {
      key: async ({ key: given, attributes }) => {
        const key = restoredKey(given, uses, { now: tables.now(), windows });
        keyIds.set(key.prefix, key.id);
        await tables.otpkeys.transact(key.prefix, [
          { upsert: { rowKey: keyRow, ...otpKeyColumns.toColumns(key) } },
          { upsert: { rowKey: attributesRow, ...attributeColumns(attributes) } },
        ]);
      },
      user: async ({ user: given, attributes, lastLogin }) => {
        const user = restoredUser(given, owners, keyIds, newEpoch(tables.random));
        const { id, name, epoch } = user;
        users++;
        if (name !== given.name) {
          renamed.push({ id, name });
          tables.log.info("user_renamed", { userId: id, username: name });
        }
        await Promise.all([
          writeName(tables, foldUsername(name), { id, by: epoch }, undefined),
          ...indexHints(user, attributes).map(hint => writeHint(tables, hint)),
        ]);
        const upserts = userParts(user, attributes, lastLogin).map(part => ({ upsert: part }));
        await tables.users.transact(idKey(id), upserts);
      },
      spent: async ({ prefix, hash, ends }) => void (await spendOtp(tables, prefix, hash, ends)),
    },
    tables.log,
  );
  return { users, otpkeys: keyIds.size, renamed: renamed.toSorted((one, other) => one.id - other.id) };
}

/**
 * Returns the owner of each folded name. Two users have one name if one left it during the backup and the other took
 * it. Rows are read in the order of ids, so the user with the higher id was read later and has the name.
 */
async function ownersOfNames(backup: Backup): Promise<ReadonlyMap<string, number>> {
  const owners = new Map<string, number>();
  for await (const row of backup.rows("users")) {
    const { partitionKey, rowKey, name } = row;
    if (rowKey !== userRow || typeof name !== "string" || isGone(asRow(row))) continue;
    owners.set(foldUsername(name), Math.max(Number(partitionKey), owners.get(foldUsername(name)) ?? 0));
  }
  return owners;
}

/** Returns a user as restored: with a name of their own, existing OTP keys, and no session. */
function restoredUser(
  user: User,
  owners: ReadonlyMap<string, number>,
  keyIds: ReadonlyMap<string, number>,
  epoch: number,
): User {
  const { id, name } = user;
  const suffix = `~${id}`;
  const own = owners.get(foldUsername(name)) === id;
  // An OTP key that was deleted during the backup is not restored, and neither are its assignments.
  const otpkeys = user.otpkeys.filter(key => keyIds.get(key.prefix) === key.id);
  const shortened = [...name].slice(0, usernameMaxCodePoints - suffix.length).join("");
  // A code may have been used since the backup.
  const ended = user.passwordCode && { passwordCode: endedCode(user.passwordCode) };
  return { ...user, ...ended, name: own ? name : shortened + suffix, otpkeys, epoch };
}

/**
 * Returns an OTP key as restored: it accepts no OTP and no temporary code that may have been used since the backup. The
 * user of a temporary code still needs an OTP.
 */
function restoredKey(key: OtpKey, uses: number, at: { readonly now: Instant; readonly windows: OtpWindows }): OtpKey {
  const { parameters, temporaryCode } = key;
  const kind = key.kind && otpKinds[key.kind];
  const isLocal = kind?.checkedBy === "authentication-server";
  return {
    ...key,
    ...(isLocal && { parameters: { ...parameters, state: kind.advancePastUses(parameters, uses, at) } }),
    ...(temporaryCode && { temporaryCode: withoutHash(temporaryCode) }),
  };
}
