import type { Row, Table } from "../../platform/azure/tables.ts";
import { accepted, type Parsed } from "../../platform/fault.ts";
import { conflict, retryOnConflict } from "../../platform/stored.ts";
import { attributeHint, readHint, removeHint, sendNotices, writeHint } from "../hints.table.ts";
import { readKeyRows } from "../otpkeys/key-rows.table.ts";
import type { AttributeOwner } from "../store.ts";
import { type AuthTables, finishOrLog, replaceRow } from "../tables.table.ts";
import { readRowsOf } from "../users/names.table.ts";
import { attributeColumns, attributesIn, attributesRow } from "./attribute-rows.table.ts";
import { type Attributes, attributeOf, withAttribute, withoutAttribute } from "./attributes.ts";

/**
 * Storage of attributes. Keys and values must be valid. An owner with both user and OTP key means the OTP key's
 * attributes (A14). Each function returns undefined if there is no such owner.
 */
export const attributeTable = (tables: AuthTables) => ({
  async all(owner: AttributeOwner): Promise<Attributes | undefined> {
    const found = await findRow(tables, owner);
    return found && attributesIn(found.row);
  },

  /** Refuses a value that would exceed the owner's limits. */
  set: (owner: AttributeOwner, key: string, value: string) => change(tables, owner, key, value),

  /** Deletes an attribute, if it is set. */
  remove: (owner: AttributeOwner, key: string) => change(tables, owner, key, undefined),
});

/** The row of the attributes of an owner. */
interface Found {
  readonly table: Table;
  readonly row: Row;
  /** Of attributes of a user. They have an index for filters. */
  readonly userId?: number;
}

/** Returns undefined if there is no such owner, or if the OTP key is not assigned to the user. */
async function findRow(tables: AuthTables, { user: userRef, prefix }: AttributeOwner): Promise<Found | undefined> {
  if (prefix !== undefined) {
    const row = (await readKeyRows(tables, prefix, userRef))?.attributes;
    return row && { table: tables.otpkeys, row };
  }
  const found = await readRowsOf(tables, userRef);
  const row = found?.rows.attributes;
  return found && row && { table: tables.users, row, userId: found.user.id };
}

/**
 * Sets an attribute; without a value deletes it. The index row of a user's new value is written before the attributes
 * and that of the former value is removed after them, so that a filter finds every user who matches (A11). No filter
 * uses attributes of OTP keys, so they have no index.
 */
function change(
  tables: AuthTables,
  owner: AttributeOwner,
  key: string,
  value: string | undefined,
): Promise<Parsed<Attributes> | undefined> {
  let meant = owner;
  return retryOnConflict(async () => {
    const found = await findRow(tables, meant);
    if (found === undefined) return undefined;
    const { table, row, userId } = found;
    // Later attempts are on the same user, also if the user is renamed meanwhile.
    if (userId !== undefined) meant = { user: { by: "id", id: userId } };
    const attributes = attributesIn(row);
    const next =
      value === undefined ? accepted(withoutAttribute(attributes, key)) : withAttribute(attributes, key, value);
    const was = attributeOf(attributes, key);
    if (!next.ok || was === value) return next;
    const hintOf = (content: string | undefined) =>
      userId === undefined || content === undefined ? undefined : attributeHint(key, content, userId);
    const [former, announced] = [hintOf(was), hintOf(value)];
    await sendNotices(
      tables,
      [former, announced].filter(hint => hint !== undefined),
    );
    const [formerRow] = await Promise.all([
      former && readHint(tables, former),
      announced && writeHint(tables, announced),
    ]);
    // By the version of the row: it fails for an owner who was deleted, even if there is another one with the same
    // prefix, because the owner's rows are removed together.
    const written = { partitionKey: row.partitionKey, rowKey: attributesRow, ...attributeColumns(next.value) };
    if ((await replaceRow(tables, table, written, row.etag)) === undefined) return conflict;
    if (former && formerRow) await finishOrLog(tables.log, () => removeHint(tables, former, formerRow));
    return next;
  });
}
