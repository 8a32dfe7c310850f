import type { UserFilter } from "../../../lib/auth/store.ts";
import { hashUsername } from "../../../lib/auth/user-hash.ts";
import { listedId } from "../../../lib/azure/auth/index/list-rows.ts";
import { attributeUsersKey, idKey } from "../../../lib/azure/auth/rows/rows.ts";
import type { Row, Tables } from "../../../lib/azure/tables/tables.ts";

/** A user as the rows have it at one moment. */
export interface Truth {
  readonly id: number;
  readonly attributes: ReadonlyMap<string, string>;
  /** Ids of keys by prefix. */
  readonly otpkeys: ReadonlyMap<string, number>;
}

/** Returns the rows of a partition. */
export type ReadRows = (table: string, partitionKey: string) => Promise<readonly Row[]>;

export const readRows =
  (tables: Tables): ReadRows =>
  (table, partitionKey) =>
    Array.fromAsync(tables.table(table).query({ partitionKey }));

const rowOf = async (read: ReadRows, table: string, partitionKey: string, key: string): Promise<Row | undefined> =>
  (await read(table, partitionKey)).find(({ rowKey }) => rowKey === key);

/** Returns what storage says of the users of these folded names. Names without a user are left out. */
export async function truthOf(read: ReadRows, names: readonly string[]): Promise<Truth[]> {
  const all = await Promise.all(names.map(name => read("users", hashUsername(name))));
  const ids = new Map<string, number>();
  for (const row of all.flat().filter(({ rowKey }) => rowKey === "user")) {
    const id = (await isCommitted(read, row)) ? row.renamed : row.id;
    if (id !== undefined) ids.set(row.partitionKey, Number(id));
  }
  return all.flatMap(rows => {
    const id = ids.get(rows[0]?.partitionKey ?? "");
    if (id === undefined) return [];
    const own = (prefix: string) =>
      rows
        .filter(row => row.id === id && row.rowKey.startsWith(prefix))
        .map(row => [row.rowKey.slice(prefix.length), row] as const);
    const attributes = new Map(own("attr:").map(([name, { value }]) => [name, String(value)]));
    const otpkeys = new Map(own("key:").map(([name, { keyId }]) => [name, Number(keyId)]));
    return [{ id, attributes, otpkeys }];
  });
}

/** Returns whether a row `user` is a claim of a rename that is committed: it is the user from then on. */
async function isCommitted(read: ReadRows, { partitionKey, from, renamed }: Row): Promise<boolean> {
  if (from === undefined) return false;
  const former = await rowOf(read, "users", String(from), "user");
  return former?.renamed === renamed && former?.to === partitionKey;
}

export const matches = ({ attributes, otpkey }: UserFilter, truth: Truth): boolean =>
  [...attributes].every(([key, value]) => truth.attributes.get(key) === value) &&
  (otpkey === undefined || truth.otpkeys.has(otpkey));

/** Ids that the index rows of a filter's parts name. */
export async function indexed(read: ReadRows, { attributes, otpkey }: UserFilter): Promise<number[][]> {
  const ofAttributes = [...attributes].map(async ([key, value]) =>
    (await read("attributeusers", attributeUsersKey(key, value))).map(({ rowKey }) => Number(rowKey)),
  );
  const ofKey = async (prefix: string) =>
    (await read("otpkeys", prefix))
      .filter(({ rowKey }) => rowKey.startsWith("user:"))
      .map(({ rowKey }) => Number(rowKey.slice("user:".length)));
  return Promise.all([...ofAttributes, ...(otpkey === undefined ? [] : [ofKey(otpkey)])]);
}

/** What must hold at every moment; a sentence for each breach. */
export async function breaches(read: ReadRows, truths: readonly Truth[]): Promise<string[]> {
  const found: string[] = [];
  for (const { id, attributes, otpkeys } of truths) {
    for (const [key, value] of attributes) {
      const row = await rowOf(read, "attributeusers", attributeUsersKey(key, value), idKey(id));
      if (row === undefined) found.push(`user ${id} is not found by ${key}=${value}`);
    }
    for (const [prefix, keyId] of otpkeys) {
      const [key, holder] = await Promise.all([
        rowOf(read, "otpkeys", prefix, "key"),
        rowOf(read, "otpkeys", prefix, `user:${idKey(id)}`),
      ]);
      if (key?.id !== keyId) found.push(`user ${id} has key ${prefix} of id ${keyId}, which is gone`);
      if (holder === undefined) found.push(`user ${id} is not found by key ${prefix}`);
    }
  }
  return found;
}

/** The invariants of list rows at every moment: a clean row is correct, and every user has a row. */
export async function listBreaches(read: ReadRows, names: readonly string[], prefix: string): Promise<string[]> {
  const hashes = names.map(hashUsername);
  const [users, usersByName, keys, truths, rows, key] = await Promise.all([
    read("ids", "users"),
    read("ids", "names"),
    read("ids", "otpkeys"),
    truthOf(read, names),
    Promise.all(hashes.map(hash => rowOf(read, "users", hash, "user"))),
    rowOf(read, "otpkeys", prefix, "key"),
  ]);
  const found: string[] = [];
  for (const list of [users, usersByName]) {
    for (const { id } of truths) if (!list.some(row => listedId(row) === id)) found.push(`user ${id} is not listed`);
    for (const row of list.filter(({ clean, userHash }) => clean === true && hashes.includes(String(userHash)))) {
      const owner = rows[hashes.indexOf(String(row.userHash))];
      const isOwn =
        truths.some(({ id }) => id === listedId(row)) && [owner?.id, owner?.renamed].includes(listedId(row));
      if (!isOwn || owner?.to !== undefined) found.push(`${row.rowKey} is listed, and gone`);
      else if (row.name !== owner?.name) found.push(`${row.rowKey} is listed as ${row.name}`);
    }
  }
  const listed = keys.filter(row => row.prefix === prefix);
  const isOwn = (row: Row) => listedId(row) === key?.id;
  if (key !== undefined && !listed.some(isOwn)) found.push(`key ${key.id} is not listed`);
  for (const row of listed.filter(({ clean }) => clean === true)) {
    if (!isOwn(row)) found.push(`${row.rowKey} is listed, and gone`);
    else if (row.enabled !== key?.enabled) found.push(`${row.rowKey} is listed as enabled: ${row.enabled}`);
  }
  return found;
}

/** What of users and keys stands in the tables and should not, when nothing is under way; a sentence for each row. */
export async function residue(
  read: ReadRows,
  {
    names,
    prefixes,
    values,
  }: {
    readonly names: readonly string[];
    readonly prefixes: readonly string[];
    readonly values: readonly (readonly [string, string])[];
  },
): Promise<string[]> {
  const found: string[] = [];
  const truths = await truthOf(read, names);
  const living = new Set(truths.map(({ id }) => id));
  const [listedUsers, listedNames, listedKeys] = await Promise.all([
    read("ids", "users"),
    read("ids", "names"),
    read("ids", "otpkeys"),
  ]);

  for (const name of names) {
    const userHash = hashUsername(name);
    for (const { rowKey, id } of await read("users", userHash)) {
      if (id !== undefined && !living.has(Number(id))) found.push(`${rowKey} of user ${id}, who is gone`);
    }
    for (const list of [listedUsers, listedNames]) {
      const listed = list.filter(row => row.userHash === userHash);
      const ids = truths.filter(({ id }) => listed.some(row => listedId(row) === id));
      if (listed.length !== ids.length) found.push(`${listed.length} list rows of ${name} for ${ids.length} users`);
      if (listed.some(({ clean }) => clean !== true)) found.push(`an open list row of ${name}`);
    }
  }
  for (const prefix of prefixes) {
    const rows = await read("otpkeys", prefix);
    const keyId = rows.find(({ rowKey }) => rowKey === "key")?.id;
    for (const { rowKey, id } of rows) if (id !== keyId) found.push(`${rowKey} of key ${id}, which is gone`);
    const listed = listedKeys.filter(row => row.prefix === prefix);
    if (listed.length !== (keyId === undefined ? 0 : 1)) found.push(`${listed.length} list rows of ${prefix}`);
    if (listed.some(({ clean }) => clean !== true)) found.push(`an open list row of ${prefix}`);
  }
  const filters: UserFilter[] = [
    ...values.map(value => ({ attributes: new Map([value]) })),
    ...prefixes.map(otpkey => ({ attributes: new Map(), otpkey })),
  ];
  for (const filter of filters) {
    const expected = truths.filter(truth => matches(filter, truth)).map(({ id }) => id);
    const [actual = []] = await indexed(read, filter);
    if (actual.join() !== expected.sort((one, other) => one - other).join())
      found.push(
        `index rows of ${[...filter.attributes, filter.otpkey].join()} for ${actual.join()}, not ${expected.join()}`,
      );
  }
  return found;
}
