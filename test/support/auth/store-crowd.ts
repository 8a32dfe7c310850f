import { hashUsername } from "../../../lib/auth/user-hash.ts";
import { nameRowKeys } from "../../../lib/azure/auth/index/name-index.ts";
import { attributeUsersKey, idKey } from "../../../lib/azure/auth/rows/rows.ts";
import type { Action } from "../../../lib/azure/tables/tables.ts";
import type { AuthStorage } from "./store.ts";
import { plainKey } from "./store.ts";

/**
 * Users `crowd<n>` with ids from 1 on, alike in attributes and key, as lists and filters see them: written as index rows by the
 * hundred. Only the first hundred have rows of their own, too, because each costs a call.
 */
export async function addUsers(
  { tables, store, now }: AuthStorage,
  { count, attributes, prefix }: { count: number; attributes: Record<string, string>; prefix: string },
): Promise<void> {
  const key = await store.otpkeys.create(plainKey(prefix));
  const [schema, at] = [1, now()];
  const facts = Object.entries(attributes);
  const users = Array.from({ length: count }, (_, n) => ({
    id: n + 1,
    name: `crowd${n}`,
    userHash: hashUsername(`crowd${n}`),
  }));
  const inserts = (rowsOf: (user: (typeof users)[number]) => { rowKey: string }): Action[] =>
    users.map(user => ({ insert: { schema, writtenAt: at, userHash: user.userHash, ...rowsOf(user) } }));

  await inBatches(
    tables,
    "ids",
    "users",
    inserts(({ id, name }) => ({ rowKey: idKey(id), name, clean: true })),
  );
  await inBatches(
    tables,
    "ids",
    "names",
    inserts(({ id, name }) => ({ rowKey: nameRowKeys({ id, name }).rowKey, name, clean: true })),
  );
  await inBatches(
    tables,
    "otpkeys",
    prefix,
    inserts(({ id }) => ({ rowKey: `user:${idKey(id)}`, id: key?.value.id })),
  );
  for (const [name, value] of facts) {
    await inBatches(
      tables,
      "attributeusers",
      attributeUsersKey(name, value),
      inserts(({ id }) => ({ rowKey: idKey(id) })),
    );
  }

  const head = { count: facts.length, size: facts.join("").length - facts.length };
  const rowsOf = ({ id, name }: (typeof users)[number]): Action[] =>
    [
      { rowKey: "user", id, name, epoch: 1, createdAt: at },
      { rowKey: "attributes", id, ...head },
      { rowKey: `key:${prefix}`, id, keyId: key?.value.id },
      ...facts.map(([attribute, value]) => ({ rowKey: `attr:${attribute}`, id, value })),
    ].map(row => ({ insert: { schema, ...row } }));
  const work = users.slice(0, 100).values();
  const worker = async () => {
    for (const user of work) await tables.table("users").transact(user.userHash, rowsOf(user));
  };
  await Promise.all(Array.from({ length: 16 }, worker));
}

/** Gives a user without attributes these ones, in a few calls: set one by one, each costs four. */
export async function addAttributes(
  tables: AuthStorage["tables"],
  { id, userHash }: { readonly id: number; readonly userHash: string },
  attributes: Readonly<Record<string, string>>,
): Promise<void> {
  const entries = Object.entries(attributes);
  const own = { schema: 1, id };
  const rows = entries.map(([key, value]) => ({ insert: { rowKey: `attr:${key}`, ...own, value } }));
  const head = { rowKey: "attributes", ...own, count: entries.length, size: entries.flat().join("").length };
  await inBatches(tables, "users", userHash, [...rows, { insert: head }]);
}

async function inBatches(tables: AuthStorage["tables"], table: string, partition: string, actions: Action[]) {
  for (let start = 0; start < actions.length; start += 100) {
    await tables.table(table).transact(partition, actions.slice(start, start + 100));
  }
}
