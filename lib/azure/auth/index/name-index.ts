import { foldUsername } from "../../../auth/model/username.ts";
import type { NamePage, NameRange, UserSummary } from "../../../auth/store.ts";
import { readOrLog } from "../../tables/row-schema.ts";
import type { Page, Row } from "../../tables/tables.ts";
import { checkedVersion, idKey } from "../rows/rows.ts";
import type { AuthTables } from "../rows/tables.ts";
import { entryOf, findMatches, type ListOwners, maxExamined } from "./id-lists.ts";
import { listedId, listRowKeys, type RowKeys } from "./list-rows.ts";

/** Partition of the list of users that is sorted by name. */
const names = "names";

/** Bytes of a name in a row key: 480 characters in hex, which leaves room for the id in the 512 that a key can have. */
const maxNameBytes = 240;

/**
 * Returns the form in which the beginnings of names are compared: folded, with one form of sigma. Folding writes a
 * sigma at the end of a word differently, so that the folded beginning of a name would not be the beginning of the
 * folded name.
 */
const comparableName = (name: string): string => foldUsername(name).replaceAll("ς", "σ");

/**
 * Returns a name as the beginning of a row key: UTF-8 in hex, because row keys do not allow every character of a name.
 */
const nameKey = (name: string): string =>
  Buffer.from(comparableName(name), "utf8").subarray(0, maxNameBytes).toString("hex");

/** Returns the keys of the row of a user in the list sorted by name. */
export const nameRowKeys = ({ id, name }: UserSummary): RowKeys => ({
  partitionKey: names,
  rowKey: `${nameKey(name)}-${idKey(id)}`,
});

/** Returns the keys of the rows of a user in the lists of users. */
export const rowKeysOf = (user: UserSummary): readonly RowKeys[] => [listRowKeys("users", user.id), nameRowKeys(user)];

/**
 * Returns a page of the users whose names begin with a text, sorted by name. Makes one read for a thousand users, and
 * one for each dirty row. With further conditions it examines at most 1,000 users.
 */
export async function listByName(
  tables: AuthTables,
  owners: ListOwners<UserSummary>,
  prefix: string,
  { after, top }: NameRange,
  isMatch: ((user: UserSummary, listed: Row) => Promise<boolean>) | undefined,
): Promise<NamePage> {
  const beginning = comparableName(prefix);
  const range = {
    partitionKey: names,
    rowKeyPrefix: nameKey(prefix),
    // Starts after the row `after`: no row key sorts between a row key and the same row key with a space.
    ...(after !== undefined && { from: `${after} ` }),
  };
  const consistent = readOnce(owners);
  /** The users found so far: one who is being renamed has two rows. */
  const ids = new Set<number>();
  const examine = (row: Row) =>
    readOrLog(tables.log, async () => {
      const user = await entryOf(tables, consistent, checkedVersion(row));
      const isNamed = user !== undefined && comparableName(user.name).startsWith(beginning);
      if (!isNamed || (isMatch !== undefined && !(await isMatch(user, row))) || ids.has(user.id)) return undefined;
      ids.add(user.id);
      return { user, rowKey: row.rowKey };
    });
  const found: { readonly user: UserSummary; readonly rowKey: string }[] = [];
  const read = isMatch === undefined ? top + 1 : maxExamined;
  let page: Page = { rows: [] };
  let examined = 0;
  let last: string | undefined;
  do {
    page = await tables.ids.queryPage(range, { top: Math.min(1000, read), continuation: page.continuation });
    found.push(...(await findMatches(page.rows, top - found.length, examine)));
    examined += page.rows.length;
    last = page.rows.at(-1)?.rowKey ?? last;
  } while (page.continuation !== undefined && found.length <= top && examined < maxExamined);
  const shown = found.slice(0, top);
  const next = found.length > top ? shown.at(-1)?.rowKey : page.continuation && last;
  return { entries: shown.map(({ user }) => user), ...(next !== undefined && { next }) };
}

/**
 * Reads each owner once for a list. A user who is being renamed has a row of each name: if both were judged by different reads, the list
 * could lack the user or have it twice.
 */
function readOnce(owners: ListOwners<UserSummary>): ListOwners<UserSummary> {
  const found = new Map<number, Promise<Row | undefined>>();
  return {
    ...owners,
    find: row => {
      const owner = found.get(listedId(row)) ?? owners.find(row);
      found.set(listedId(row), owner);
      return owner;
    },
  };
}
