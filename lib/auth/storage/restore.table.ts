import type { Backup } from "../../platform/maintenance/read-backup.ts";
import { createBatchWriter, upsertAll } from "../../platform/tables/row-batches.ts";
import { attributeColumns, attributesRow } from "../attributes/attribute-rows.table.ts";
import { keyPartition, keyRow, otpKeyColumns } from "../otpkeys/key-rows.table.ts";
import type { KeyParameters, OtpWindows } from "../otpkeys/kinds/contract.ts";
import { otpKind } from "../otpkeys/kinds/kinds.ts";
import { withoutHash } from "../otpkeys/kinds/temporary-code.ts";
import { spendOtp } from "../otpkeys/otpkeys.table.ts";
import { endedCode } from "../passwords/password-code.ts";
import type { OtpKey, User, UserSummary } from "../store.ts";
import { nameColumns } from "../users/names.table.ts";
import { isGone, userParts, userRow } from "../users/user-rows.table.ts";
import { foldUsername, usernameMaxCodePoints } from "../users/username.ts";
import { forEachAuthItem, type UserItem } from "./backup-items.table.ts";
import { indexHints, listHint, nameHint, writeHint } from "./hints.table.ts";
import { newEpoch } from "./ids.ts";
import { type AuthTables, idKey, schemaVersion } from "./tables.table.ts";

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
  const list = createBatchWriter(tables.index);
  const renamed: UserSummary[] = [];
  let users = 0;
  await forEachAuthItem(
    backup,
    {
      key: async ({ key: given, attributes }) => {
        const key = revokeCode(advanceCounter(given, uses, { now: tables.now(), windows }));
        keyIds.set(key.prefix, key.id);
        const partitionKey = keyPartition(key.prefix);
        await upsertAll(tables.otpkeys, [
          { partitionKey, rowKey: keyRow, ...otpKeyColumns.toColumns(key) },
          { partitionKey, rowKey: attributesRow, ...attributeColumns(attributes) },
        ]);
      },
      user: async item => {
        const user = restoredUser(item.user, owners, keyIds, newEpoch(tables.random));
        users++;
        if (user.name !== item.user.name) {
          renamed.push({ id: user.id, name: user.name });
          tables.log.info("user_renamed", { userId: user.id, username: user.name });
        }
        const { partitionKey, rowKey } = listHint(foldUsername(user.name), user.id);
        await list.add({ partitionKey, rowKey, schema: schemaVersion });
        await restoreUser(tables, { ...item, user });
      },
      spent: async ({ prefix, hash, ends }) => void (await spendOtp(tables, prefix, hash, ends)),
    },
    tables.log,
  );
  await list.flush();
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
    if (rowKey !== userRow || typeof name !== "string" || isGone({ ...row, etag: "" })) continue;
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

async function restoreUser(tables: AuthTables, { user, attributes, lastLogin }: UserItem): Promise<void> {
  const { id, name, epoch } = user;
  const folded = foldUsername(name);
  const list = listHint(folded, id);
  const { partitionKey, rowKey } = nameHint(folded, id);
  await Promise.all([
    tables.names.upsert({ partitionKey, rowKey, ...nameColumns.toColumns({ id, by: epoch }) }),
    ...indexHints(user, attributes)
      .filter(hint => hint.rowKey !== list.rowKey)
      .map(hint => writeHint(tables, hint)),
  ]);
  const parts = userParts(user, attributes, lastLogin);
  await upsertAll(
    tables.users,
    parts.map(part => ({ partitionKey: idKey(id), ...part })),
  );
}

function advanceCounter(key: OtpKey, uses: number, at: { now: string; windows: OtpWindows }): OtpKey {
  const kind = key.kind && otpKind(key.kind);
  if (kind?.checkedBy !== "authentication-server") return key;
  const parameters: KeyParameters = { ...key.parameters, state: kind.advancePastUses(key.parameters, uses, at) };
  return { ...key, parameters };
}

/** Drops a temporary code, which may have been used since the backup. Its user still needs an OTP. */
const revokeCode = (key: OtpKey): OtpKey =>
  key.temporaryCode === undefined ? key : { ...key, temporaryCode: withoutHash(key.temporaryCode) };
