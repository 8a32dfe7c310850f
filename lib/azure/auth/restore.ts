import { noAttributes, withAttribute } from "../../auth/model/attributes.ts";
import { restoredEpoch } from "../../auth/model/session.ts";
import type { KeyForm, OtpWindows } from "../../auth/otp/contract.ts";
import { otpKind } from "../../auth/otp/kinds.ts";
import { withoutHash } from "../../auth/otp/temporary-code.ts";
import type { OtpKey } from "../../auth/store.ts";
import type { Backup } from "../maintenance/read-backup.ts";
import { createBatchWriter, upsertAll } from "../maintenance/row-streams.ts";
import type { Entity } from "../tables/tables.ts";
import { type AttributeRow, type AuthWork, forEachAuthItem, type KeyItem, type UserItem } from "./backup-items.ts";
import { insertSpentOtp } from "./clean-up/expiry-index.ts";
import { assignmentEntry, attributeEntry, type IndexEntry, indexRowOf } from "./index/index-entries.ts";
import { type ListName, listRowKeys, listRowOf } from "./index/list-rows.ts";
import { nameRowKeys } from "./index/name-index.ts";
import { headRow, keyRow, schemaVersion, toKeyColumns } from "./rows/rows.ts";
import type { AuthTables } from "./rows/tables.ts";

export interface AuthRestored {
  readonly users: number;
  readonly otpkeys: number;
}

/**
 * Writes the users and OTP keys of a backup into empty tables. Sessions and throttles are not restored, and device
 * tokens that were issued before are no longer valid. No OTP key accepts an OTP that may have been used since the
 * backup. Keeps one file of the backup in memory, prefix and id of every OTP key, and id and partition of every user.
 * @param uses maximum number of codes (`hotp`) or power-ups (`yubico`) of an OTP key since the backup
 */
export async function restoreAuth(
  backup: Backup,
  tables: AuthTables,
  { uses, windows }: { readonly uses: number; readonly windows: OtpWindows },
): Promise<AuthRestored> {
  const keyIds = new Map<string, number>();
  const writer = () => createBatchWriter(tables.ids);
  const lists: Lists = { users: writer(), names: writer(), otpkeys: writer() };
  let users = 0;
  const work: AuthWork = {
    key: async item => {
      keyIds.set(item.key.prefix, item.key.id);
      const key = revokeCode(advanceCounter(item.key, uses, { now: tables.now(), windows }));
      await restoreKey(tables, { ...item, key }, lists);
    },
    user: async item => {
      users++;
      await restoreUser(tables, item, { keyIds, lists });
    },
    pointer: row => upsertAll(tables.ids, [row]),
    spent: async ({ prefix, hash, ends }) => void (await insertSpentOtp(tables, prefix, hash, ends)),
  };
  await forEachAuthItem(backup, work, tables.log);
  await Promise.all(Object.values(lists).map(list => list.flush()));
  return { users, otpkeys: keyIds.size };
}

function advanceCounter(key: OtpKey, uses: number, at: { now: string; windows: OtpWindows }): OtpKey {
  const kind = key.kind && otpKind(key.kind);
  if (kind?.checkedBy !== "authentication-server") return key;
  const form: KeyForm = { ...key.form, state: kind.advancePastUses(key.form, uses, at) };
  return { ...key, form };
}

/** Drops a temporary code, which may have been used since the backup. Its user still needs an OTP. */
const revokeCode = (key: OtpKey): OtpKey =>
  key.temporaryCode === undefined ? key : { ...key, temporaryCode: withoutHash(key.temporaryCode) };

/** Writers of the list rows. Each list is one partition. */
type Lists = Readonly<Record<ListName | "names", ReturnType<typeof createBatchWriter>>>;

async function restoreKey(tables: AuthTables, { key, attributes }: KeyItem, lists: Lists): Promise<void> {
  const { id, prefix, enabled } = key;
  await lists.otpkeys.add(
    listRowOf(listRowKeys("otpkeys", id), { prefix, enabled, clean: true, writtenAt: tables.now() }),
  );
  await upsertAll(tables.otpkeys, [
    { partitionKey: prefix, rowKey: keyRow, ...toKeyColumns(key) },
    ...attributes.map(({ row }) => row),
    ...headOf(prefix, id, attributes),
  ]);
}

async function restoreUser(
  tables: AuthTables,
  { user: { id, name, userHash, epoch }, row, login, attributes, assigned: allAssigned }: UserItem,
  { keyIds, lists }: { readonly keyIds: ReadonlyMap<string, number>; readonly lists: Lists },
): Promise<void> {
  // An OTP key that was deleted during the backup is not restored, and neither are its assignments.
  const assigned = allAssigned.filter(({ key }) => keyIds.get(key.prefix) === key.id);
  const entries: readonly IndexEntry[] = [
    ...attributes.map(({ key, value }) => attributeEntry(tables, key, value)),
    ...assigned.map(({ key }) => assignmentEntry(tables, key.prefix, key.id)),
  ];
  const listed = { userHash, name, clean: true, writtenAt: tables.now() };
  await Promise.all([
    lists.users.add(listRowOf(listRowKeys("users", id), listed)),
    lists.names.add(listRowOf(nameRowKeys({ id, name }), listed)),
    ...entries.map(entry =>
      entry.index.table.upsert({
        partitionKey: entry.index.partitionKey,
        ...indexRowOf(tables, { userHash, id }, entry),
      }),
    ),
  ]);
  await upsertAll(tables.users, [
    { ...row, epoch: restoredEpoch(epoch, tables.now()) },
    ...(login === undefined ? [] : [login]),
    ...[...attributes, ...assigned].map(each => each.row),
    ...headOf(userHash, id, attributes),
  ]);
}

/** Computes the head row from the attributes, because the backup may have read both at different times. */
function headOf(partitionKey: string, id: number, attributes: readonly AttributeRow[]): readonly Entity[] {
  if (attributes.length === 0) return [];
  let head = noAttributes;
  for (const { key, value } of attributes) {
    const next = withAttribute(head, key, undefined, value);
    if (next.ok) head = next.value;
  }
  return [{ partitionKey, rowKey: headRow, schema: schemaVersion, id, ...head }];
}
