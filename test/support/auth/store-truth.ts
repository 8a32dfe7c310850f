import { attributesIn } from "../../../lib/auth/attributes/attribute-rows.table.ts";
import type { Attributes } from "../../../lib/auth/attributes/attributes.ts";
import { type Hint, hintedId, indexHints, isTrueHint, nameHint } from "../../../lib/auth/hints.table.ts";
import type { User, UserFilter } from "../../../lib/auth/store.ts";
import { authTables, idKey } from "../../../lib/auth/tables.table.ts";
import { isGone, userIn } from "../../../lib/auth/users/user-rows.table.ts";
import { foldUsername } from "../../../lib/auth/users/username.ts";
import type { Row, Tables } from "../../../lib/platform/azure/tables.ts";

/** A user as the rows have it at one moment. */
export interface Truth {
  readonly user: User;
  readonly attributes: Attributes;
}

/** All rows of the tables of the authentication server at one moment, by table. */
export type Snapshot = ReadonlyMap<string, readonly Row[]>;

export async function snapshotOf(tables: Tables): Promise<Snapshot> {
  const all = authTables.map(async name => [name, await Array.fromAsync(tables.table(name).scan())] as const);
  return new Map(await Promise.all(all));
}

const rowsOf = (rows: Snapshot, table: string): readonly Row[] => rows.get(table) ?? [];

const rowIn = (rows: Snapshot, table: string, partitionKey: string, rowKey: string): Row | undefined =>
  rowsOf(rows, table).find(row => row.partitionKey === partitionKey && row.rowKey === rowKey);

/** Returns every user who exists. */
export const truthOf = (rows: Snapshot): readonly Truth[] =>
  rowsOf(rows, "users").flatMap(row => {
    const user = row.rowKey === "user" ? userIn(row)?.value : undefined;
    if (user === undefined) return [];
    return [{ user, attributes: attributesIn(rowIn(rows, "users", row.partitionKey, "attributes")) }];
  });

export const matches = ({ attributes, otpkey }: UserFilter, truth: Truth): boolean =>
  [...(attributes ?? [])].every(([key, value]) => truth.attributes[key] === value) &&
  (otpkey === undefined || truth.user.otpkeys.some(({ prefix }) => prefix === otpkey));

/** What must hold at every moment; a sentence for each breach. */
export function breaches(rows: Snapshot): string[] {
  const found: string[] = [];
  const truths = truthOf(rows);
  const names = Map.groupBy(truths, ({ user }) => foldUsername(user.name));
  for (const [name, users] of names) if (users.length > 1) found.push(`${users.length} users have the name ${name}`);
  for (const { user, attributes } of truths) {
    const { id, name } = user;
    const { table, partitionKey, rowKey } = nameHint(foldUsername(name), id);
    const row = rowIn(rows, table, partitionKey, rowKey);
    if (Number(row?.id) !== id) found.push(`the name ${name} of user ${id} leads to ${row?.id}`);
    for (const hint of indexHints(user, attributes))
      if (rowIn(rows, hint.table, hint.partitionKey, hint.rowKey) === undefined)
        found.push(`user ${id} is not in ${hint.table} ${hint.partitionKey}/${hint.rowKey}`);
    for (const row of ["login", "attributes"])
      if (rowIn(rows, "users", idKey(id), row) === undefined) found.push(`user ${id} has no row ${row}`);
    for (const { prefix, id: keyId } of user.otpkeys)
      if (rowIn(rows, "otpkeys", prefix, "key")?.id !== keyId) found.push(`user ${id} has ${prefix}, which is gone`);
  }
  for (const { partitionKey } of rowsOf(rows, "otpkeys").filter(({ rowKey }) => rowKey === "key"))
    if (rowIn(rows, "otpkeys", partitionKey, "attributes") === undefined)
      found.push(`OTP key ${partitionKey} has no attributes`);
  return found;
}

/** What must not be left when nothing is under way and clean-up has run; a sentence for each row. */
export function residue(rows: Snapshot): string[] {
  const found: string[] = [];
  const truths = new Map(truthOf(rows).map(truth => [truth.user.id, truth]));
  const check = (table: Hint["table"], row: Row) => {
    const { partitionKey, rowKey } = row;
    const truth = truths.get(hintedId(table, row));
    const hint = { table, partitionKey, rowKey, id: hintedId(table, row) };
    if (truth === undefined || !isTrueHint(hint, truth.user, () => truth.attributes))
      found.push(`${table} ${partitionKey}/${rowKey} leads to ${hint.id}`);
  };
  for (const row of rowsOf(rows, "names")) check("names", row);
  for (const row of rowsOf(rows, "index")) check("index", row);
  for (const row of rowsOf(rows, "otpkeys")) {
    if (row.rowKey.startsWith("user:")) check("otpkeys", row);
    else if (rowIn(rows, "otpkeys", row.partitionKey, "key") === undefined)
      found.push(`otpkeys ${row.partitionKey}/${row.rowKey} of no key`);
  }
  for (const row of rowsOf(rows, "users")) {
    if (isGone(row)) found.push(`users ${row.partitionKey} is gone`);
    else if (!truths.has(Number(row.partitionKey))) found.push(`users ${row.partitionKey}/${row.rowKey} of no user`);
  }
  for (const { partitionKey, rowKey } of rowsOf(rows, "expiry"))
    if (partitionKey === "notice") found.push(`notice ${rowKey}`);
  return found;
}
