import { nameKey } from "../../lib/auth/hints.table.ts";
import { idKey, namePartition } from "../../lib/auth/tables.table.ts";
import type { Row, Tables } from "../../lib/platform/azure/tables.ts";
import type { MemoryTables } from "../../test/support/storage/memory-tables.ts";

/** Rows by their table. */
export type Snapshot = Readonly<Record<string, readonly Row[]>>;

/** Returns all rows of the tables. */
export async function snapshotOf(tables: Tables, names: readonly string[]): Promise<Snapshot> {
  const all: Record<string, readonly Row[]> = {};
  for (const name of names) all[name] = await Array.fromAsync(tables.table(name).scan());
  return all;
}

/** What identifies the model and each copy: texts in keys and columns, and numbers in columns, in the same order. */
interface Identity {
  readonly texts: readonly string[];
  readonly numbers: readonly number[];
}

/** Returns what identifies the copy with a number of a request. */
export const requestCopy = (n: number): Identity => ({
  texts: [`00000000-0000-4000-8000-${String(n).padStart(12, "0")}`, `shipment-${n}`],
  numbers: [],
});

/** Returns the name of the copy with a number of a user, as long as the model's. */
export const usernameOfCopy = (n: number): string => `user${String(n).padStart(7, "0")}`;

/** Returns what identifies a user. */
export const userIdentity = (name: string, id: number): Identity => ({
  texts: [namePartition(name), nameKey(name), name, idKey(id)],
  numbers: [id],
});

/** Puts copies of a model into tables. Values that do not differ are shared. Returns the number of rows. */
export function fill(
  tables: MemoryTables,
  { rows, identity }: { readonly rows: Snapshot; readonly identity: Identity },
  copies: Iterable<Identity>,
): number {
  const differs = (value: unknown) =>
    typeof value === "string"
      ? identity.texts.some(text => value.includes(text))
      : typeof value === "number" && identity.numbers.includes(value);
  const models = Object.entries(rows).flatMap(([table, all]) =>
    all.map(row => ({ table, row, varying: Object.entries(row).filter(([, value]) => differs(value)) })),
  );
  let count = 0;
  for (const { texts, numbers } of copies) {
    const copied = (value: unknown) =>
      typeof value === "string"
        ? identity.texts.reduce((text, from, at) => text.replaceAll(from, texts[at] ?? ""), value)
        : numbers[identity.numbers.indexOf(value as number)];
    for (const { table, row, varying } of models)
      tables.put(table, { ...row, ...Object.fromEntries(varying.map(([name, value]) => [name, copied(value)])) });
    count += models.length;
  }
  return count;
}
