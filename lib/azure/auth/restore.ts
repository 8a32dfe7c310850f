import { noAttributes, withAttribute } from "../../auth/model/attributes.ts";
import type { KeyForm, OtpWindows } from "../../auth/otp/contract.ts";
import { otpKind } from "../../auth/otp/kinds.ts";
import type { OtpKey } from "../../auth/store.ts";
import type { Backup } from "../maintenance/backup-files.ts";
import { createBatchWriter, upsertAll } from "../maintenance/rows.ts";
import type { Entity } from "../tables/tables.ts";
import { type AttributeRow, type AuthWork, forEachAuthItem, type KeyItem, type UserItem } from "./backup-items.ts";
import { spendOnce } from "./clean-up/expiry-index.ts";
import { type ListName, listedRow } from "./index/id-lists.ts";
import { assignmentEntry, attributeEntry, type IndexEntry, indexRowOf } from "./index/index-entries.ts";
import { headRow, keyRow, schemaVersion, toKeyColumns } from "./rows/rows.ts";
import type { AuthTables } from "./rows/tables.ts";

export interface AuthRestored {
  readonly users: number;
  readonly otpkeys: number;
}

/**
 * Writes users and keys of a backup into empty tables. Nobody is signed in, no name is throttled, and no key takes an OTP that may have
 * been used since the backup was made. Memory holds a file of the backup at a time, and prefix and id of every key.
 * @param uses how often a key may have been used since
 */
export async function restoreAuth(
  backup: Backup,
  shelves: AuthTables,
  { uses, windows }: { readonly uses: number; readonly windows: OtpWindows },
): Promise<AuthRestored> {
  const keyIds = new Map<string, number>();
  const lists: Lists = { users: createBatchWriter(shelves.ids), otpkeys: createBatchWriter(shelves.ids) };
  let users = 0;
  const work: AuthWork = {
    key: async item => {
      keyIds.set(item.key.prefix, item.key.id);
      const key = moved(item.key, uses, { now: shelves.now(), windows });
      await restoreKey(shelves, { ...item, key }, lists);
    },
    user: async item => {
      users++;
      await restoreUser(shelves, item, { keyIds, lists });
    },
    pointer: row => upsertAll(shelves.ids, [row]),
    spent: async ({ prefix, hash, ends }) => void (await spendOnce(shelves, prefix, hash, ends)),
  };
  await forEachAuthItem(backup, work, shelves.log);
  await Promise.all([lists.users.flush(), lists.otpkeys.flush()]);
  return { users, otpkeys: keyIds.size };
}

function moved(key: OtpKey, uses: number, at: { now: string; windows: OtpWindows }): OtpKey {
  const kind = key.kind && otpKind(key.kind);
  if (kind?.checked !== "here") return key;
  const form: KeyForm = { ...key.form, state: kind.afterUses(key.form.state, uses, at) };
  return { ...key, form };
}

/** Each list is one partition. */
type Lists = Readonly<Record<ListName, ReturnType<typeof createBatchWriter>>>;

async function restoreKey(shelves: AuthTables, { key, attributes }: KeyItem, lists: Lists): Promise<void> {
  const { id, prefix, enabled } = key;
  await lists.otpkeys.add(listedRow("otpkeys", id, { prefix, enabled, settled: true, writtenAt: shelves.now() }));
  await upsertAll(shelves.otpkeys, [
    { partitionKey: prefix, rowKey: keyRow, ...toKeyColumns(key) },
    ...attributes.map(({ row }) => row),
    ...headOf(prefix, id, attributes),
  ]);
}

async function restoreUser(
  shelves: AuthTables,
  { user: { id, name, handle }, row, attributes, assigned: allAssigned }: UserItem,
  { keyIds, lists }: { readonly keyIds: ReadonlyMap<string, number>; readonly lists: Lists },
): Promise<void> {
  // A key that was deleted while the backup was made is nobody's.
  const assigned = allAssigned.filter(({ key }) => keyIds.get(key.prefix) === key.id);
  const facts: readonly IndexEntry[] = [
    ...attributes.map(({ key, value }) => attributeEntry(shelves, key, value)),
    ...assigned.map(({ key }) => assignmentEntry(shelves, key.prefix, key.id)),
  ];
  await Promise.all([
    lists.users.add(listedRow("users", id, { handle, name, settled: true, writtenAt: shelves.now() })),
    ...facts.map(fact =>
      fact.index.table.upsert({ partitionKey: fact.index.partitionKey, ...indexRowOf(shelves, { handle, id }, fact) }),
    ),
  ]);
  await upsertAll(shelves.users, [
    row,
    ...[...attributes, ...assigned].map(each => each.row),
    ...headOf(handle, id, attributes),
  ]);
}

/** The head row as its attributes have it: the backup may have read it at another moment than them. */
function headOf(partitionKey: string, id: number, attributes: readonly AttributeRow[]): readonly Entity[] {
  if (attributes.length === 0) return [];
  let head = noAttributes;
  for (const { key, value } of attributes) {
    const next = withAttribute(head, key, undefined, value);
    if (next.ok) head = next.value;
  }
  return [{ partitionKey, rowKey: headRow, schema: schemaVersion, id, ...head }];
}
