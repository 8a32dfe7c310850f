import { accepted, type Parsed } from "../../platform/fault.ts";
import { conflict, retryOnConflict, type Stored } from "../../platform/stored.ts";
import { confirmWrite, finishOrLog } from "../../platform/tables/confirm-write.ts";
import type { Table } from "../../platform/tables/tables.ts";
import { keyPartition, readKeyRows } from "../otpkeys/key-rows.table.ts";
import { attributeHint, readHint, removeHint, writeHint } from "../storage/hints.table.ts";
import { sendNotices } from "../storage/notices.table.ts";
import { type AuthTables, idKey, newWriteId } from "../storage/tables.table.ts";
import type { AttributeOwner } from "../store.ts";
import { locateUser, matchesUserRef, readUser } from "../users/names.table.ts";
import { readUserRows, userIn } from "../users/user-rows.table.ts";
import type { UserRef } from "../users/username.ts";
import { attributeColumns, attributesIn, attributesRow } from "./attribute-rows.table.ts";
import { type Attributes, attributeOf, withAttribute, withoutAttribute } from "./attributes.ts";

/** A change of one attribute; without a value it is deleted. */
interface Change {
  readonly key: string;
  readonly value?: string;
}

/**
 * Storage of attributes. Keys and values must be valid. An owner with both user and OTP key means the OTP key's
 * attributes (A14).
 */
export function attributeTable(tables: AuthTables) {
  const change = (owner: AttributeOwner, change: Change): Promise<Parsed<Attributes> | undefined> =>
    owner.prefix === undefined
      ? changeOfUser(tables, owner.user, change)
      : changeOfKey(tables, owner.prefix, owner.user, change);

  const all = async (owner: AttributeOwner): Promise<Attributes | undefined> => {
    if (owner.prefix !== undefined) return (await readOfKey(tables, owner.prefix, owner.user))?.value;
    const id = await locateUser(tables, owner.user);
    return id === undefined ? undefined : (await readOfUser(tables, owner.user, id))?.value;
  };

  return {
    /** Returns undefined if there is no such owner. */
    all,

    /** Returns `null` if the attribute is not set, undefined if there is no such owner. */
    async get(owner: AttributeOwner, key: string): Promise<string | null | undefined> {
      const attributes = await all(owner);
      return attributes && (attributeOf(attributes, key) ?? null);
    },

    /** Refuses a value that would exceed the owner's limits. Returns undefined if there is no such owner. */
    set: (owner: AttributeOwner, key: string, value: string): Promise<Parsed<Attributes> | undefined> =>
      change(owner, { key, value }),

    /** Deletes an attribute, if it is set. Returns false if there is no such owner. */
    remove: async (owner: AttributeOwner, key: string): Promise<boolean> =>
      (await change(owner, { key })) !== undefined,
  };
}

async function readOfUser(tables: AuthTables, userRef: UserRef, id: number): Promise<Stored<Attributes> | undefined> {
  const { user, attributes } = await readUserRows(tables, id);
  const own = userIn(user)?.value;
  if (own === undefined || attributes === undefined || !matchesUserRef(userRef, own)) return undefined;
  return { value: attributesIn(attributes), version: attributes.etag };
}

/**
 * Changes an attribute of a user. The index row of a new value is written before the attributes and that of the former
 * value is removed after them, so that a filter finds every user who matches (A11).
 */
async function changeOfUser(
  tables: AuthTables,
  userRef: UserRef,
  change: Change,
): Promise<Parsed<Attributes> | undefined> {
  const { key, value } = change;
  const id = await locateUser(tables, userRef);
  if (id === undefined) return undefined;
  let as = userRef;
  return retryOnConflict(async () => {
    const read = await readOfUser(tables, as, id);
    if (read === undefined) return undefined;
    // Later attempts are on the same user, also if the user is renamed meanwhile.
    as = { by: "id", id };
    const next = applied(read.value, change);
    const was = attributeOf(read.value, key);
    if (!next.ok || was === value) return next;
    const former = was === undefined ? undefined : attributeHint(key, was, id);
    const announced = value === undefined ? undefined : attributeHint(key, value, id);
    const hints = [former, announced].filter(hint => hint !== undefined);
    await sendNotices(tables, hints);
    const [row] = await Promise.all([former && readHint(tables, former), announced && writeHint(tables, announced)]);
    if (!(await writeAttributes(tables, tables.users, idKey(id), next.value, read.version))) return conflict;
    if (former && row) await finishOrLog(tables.log, () => removeHint(tables, former, row));
    return next;
  });
}

const applied = (attributes: Attributes, { key, value }: Change): Parsed<Attributes> =>
  value === undefined ? accepted(withoutAttribute(attributes, key)) : withAttribute(attributes, key, value);

/** Reads the attributes of an OTP key; undefined if there is no such key, or if it is not assigned to the user. */
async function readOfKey(
  tables: AuthTables,
  prefix: string,
  of: UserRef | undefined,
): Promise<Stored<Attributes> | undefined> {
  const [user, { key, attributes }] = await Promise.all([of && readUser(tables, of), readKeyRows(tables, prefix)]);
  if (key === undefined || attributes === undefined) return undefined;
  const isAssigned = of === undefined || user?.value.otpkeys.some(each => each.prefix === prefix && each.id === key.id);
  return isAssigned ? { value: attributesIn(attributes), version: attributes.etag } : undefined;
}

/** Changes an attribute of an OTP key. No filter uses them, so they have no index. */
const changeOfKey = (
  tables: AuthTables,
  prefix: string,
  of: UserRef | undefined,
  change: Change,
): Promise<Parsed<Attributes> | undefined> =>
  retryOnConflict(async () => {
    const read = await readOfKey(tables, prefix, of);
    if (read === undefined) return undefined;
    const next = applied(read.value, change);
    if (!next.ok || attributeOf(read.value, change.key) === change.value) return next;
    const { otpkeys } = tables;
    return (await writeAttributes(tables, otpkeys, keyPartition(prefix), next.value, read.version)) ? next : conflict;
  });

/**
 * Writes attributes by version. The owner's rows are removed together, so the write fails for an owner who was deleted,
 * even if there is another one with the same prefix. Returns false after a conflict.
 */
async function writeAttributes(
  tables: AuthTables,
  table: Table,
  partitionKey: string,
  next: Attributes,
  version: string,
): Promise<boolean> {
  const writeId = newWriteId(tables);
  const row = { partitionKey, rowKey: attributesRow, ...attributeColumns(next), writeId };
  const written = await confirmWrite(
    () => table.replace(row, version),
    async () => {
      const found = await table.get(partitionKey, attributesRow);
      return found?.writeId === writeId ? found.etag : undefined;
    },
  );
  return written !== undefined;
}
