import { noAttributes, withAttribute } from "../../auth/attributes.ts";
import type { KeyForm, OtpWindows } from "../../auth/otp/contract.ts";
import { otpKind } from "../../auth/otp/kinds.ts";
import type { OtpKey } from "../../auth/ports.ts";
import { spendOnce } from "../auth-expiry.ts";
import { assignmentFact, attributeFact, type Fact, indexRowOf } from "../auth-facts.ts";
import { type ListName, listedRow, pointerRow } from "../auth-lists.ts";
import {
  assignedPrefix,
  attributePrefix,
  fromKeyRow,
  fromUserRow,
  headRow,
  keyRow,
  ownerOf,
  schemaVersion,
  toKeyColumns,
  userRow,
} from "../auth-rows.ts";
import type { Shelves } from "../auth-shelves.ts";
import type { Entity, Row } from "../tables.ts";
import type { Backup } from "./backup-files.ts";
import { forEachOf, gathered, partitions, upsertAll } from "./rows.ts";

/** What a backup of the authentication server copies: sessions end, throttles are forgotten, lists and indexes are told from the rows. */
export const authBackedUp: readonly string[] = ["otpkeys", "users", "ids", "spentotps"];

export interface AuthRestored {
  readonly users: number;
  readonly otpkeys: number;
}

/**
 * Writes users and keys of a backup into empty tables. Nobody is signed in, no name is throttled, and no key takes an OTP that may have
 * been used since the backup was made.
 * @param uses how often a key may have been used since
 */
export async function restoreAuth(
  backup: Backup,
  shelves: Shelves,
  { uses, windows }: { readonly uses: number; readonly windows: OtpWindows },
): Promise<AuthRestored> {
  const keyIds = new Map<string, number>();
  const lists: Lists = { users: gathered(shelves.ids), otpkeys: gathered(shelves.ids) };
  let users = 0;
  await forEachOf(partitions(backup.rows("otpkeys")), async rows => {
    const key = asRow(rows.find(({ rowKey }) => rowKey === keyRow));
    if (key === undefined) return;
    const { value } = fromKeyRow(key);
    keyIds.set(value.prefix, value.id);
    await restoreKey(shelves, moved(value, uses, { now: shelves.now(), windows }), rows, lists);
  });
  await forEachOf(partitions(backup.rows("users")), async rows => {
    const user = asRow(rows.find(({ rowKey }) => rowKey === userRow));
    if (user === undefined) return;
    users++;
    await restoreUser(shelves, user, rows, { keyIds, lists });
  });
  await Promise.all([lists.users.flush(), lists.otpkeys.flush()]);
  await forEachOf(backup.rows("ids"), async row => {
    // An id that was once given is never given again, also where nobody has it any more (decision A3). Pointers are inserted first and never
    // removed, and read last: everybody's is here.
    if (row.rowKey === pointerRow) await upsertAll(shelves.ids, [row]);
  });
  await forEachOf(backup.rows("spentotps"), async ({ partitionKey, rowKey, ends }) => {
    await spendOnce(shelves, partitionKey, rowKey, String(ends));
  });
  return { users, otpkeys: keyIds.size };
}

const asRow = (row: Entity | undefined): Row | undefined => row && { ...row, etag: "" };

function moved(key: OtpKey, uses: number, at: { now: string; windows: OtpWindows }): OtpKey {
  const kind = key.kind && otpKind(key.kind);
  if (kind?.checked !== "here") return key;
  const form: KeyForm = { ...key.form, state: kind.afterUses(key.form.state, uses, at) };
  return { ...key, form };
}

/** Each list is one partition. */
type Lists = Readonly<Record<ListName, ReturnType<typeof gathered>>>;

async function restoreKey(shelves: Shelves, key: OtpKey, rows: readonly Entity[], lists: Lists): Promise<void> {
  const { id, prefix, enabled } = key;
  const attributes = rows.filter(row => row.rowKey.startsWith(attributePrefix) && ownerOf(asRow(row)) === id);
  await lists.otpkeys.add(listedRow("otpkeys", id, { prefix, enabled, settled: true, writtenAt: shelves.now() }));
  await upsertAll(shelves.otpkeys, [
    { partitionKey: prefix, rowKey: keyRow, ...toKeyColumns(key) },
    ...attributes,
    ...headOf(prefix, id, attributes),
  ]);
}

async function restoreUser(
  shelves: Shelves,
  user: Row,
  rows: readonly Entity[],
  { keyIds, lists }: { readonly keyIds: ReadonlyMap<string, number>; readonly lists: Lists },
): Promise<void> {
  const { id, name, handle } = fromUserRow(user).value;
  const own = rows.filter(row => ownerOf(asRow(row)) === id);
  const attributes = own.filter(({ rowKey }) => rowKey.startsWith(attributePrefix));
  // A key that was deleted while the backup was made is nobody's.
  const assigned = own.filter(
    ({ rowKey, keyId }) =>
      rowKey.startsWith(assignedPrefix) && keyIds.get(rowKey.slice(assignedPrefix.length)) === keyId,
  );
  const facts: readonly Fact[] = [
    ...attributes.map(({ rowKey, value }) =>
      attributeFact(shelves, rowKey.slice(attributePrefix.length), String(value)),
    ),
    ...assigned.map(({ rowKey, keyId }) => assignmentFact(shelves, rowKey.slice(assignedPrefix.length), Number(keyId))),
  ];
  await Promise.all([
    lists.users.add(listedRow("users", id, { handle, name, settled: true, writtenAt: shelves.now() })),
    ...facts.map(fact =>
      fact.index.table.upsert({ partitionKey: fact.index.partitionKey, ...indexRowOf(shelves, { handle, id }, fact) }),
    ),
  ]);
  await upsertAll(shelves.users, [
    ...own.filter(({ rowKey }) => rowKey === userRow),
    ...attributes,
    ...assigned,
    ...headOf(handle, id, attributes),
  ]);
}

/** The head row as its attributes have it: the backup may have read it at another moment than them. */
function headOf(partitionKey: string, id: number, attributes: readonly Entity[]): readonly Entity[] {
  if (attributes.length === 0) return [];
  let head = noAttributes;
  for (const { rowKey, value } of attributes) {
    const next = withAttribute(head, rowKey.slice(attributePrefix.length), undefined, String(value));
    if (next.ok) head = next.value;
  }
  return [{ partitionKey, rowKey: headRow, schema: schemaVersion, id, ...head }];
}
