import type * as z from "zod";
import { readOrLog, rowColumns } from "../../platform/azure/row-columns.ts";
import type { Row, RowPage, Table } from "../../platform/azure/tables.ts";
import type { Immutable } from "../../platform/stored.ts";
import { attributesIn } from "../attributes/attribute-rows.table.ts";
import { attributeOf } from "../attributes/attributes.ts";
import { attributePartition, byName, holderPrefix, listHint, nameKey } from "../hints.table.ts";
import { createdAt, firstIdAt } from "../ids.ts";
import { type Examined, examineEach, type ListOptions, pageOf, rowsOf } from "../pages.table.ts";
import { type Page, type Range, type UserFilter, type UserSummary, userSchema } from "../store.ts";
import { type AuthTables, idAtEnd, idKey, type OwnRows, schemaVersion } from "../tables.table.ts";
import { isGone, lastLoginIn, loginRow, readUserRows, userRow } from "./user-rows.table.ts";
import { foldUsername } from "./username.ts";

/** What a list reads of a row `user`. */
const listedSchema = () =>
  userSchema().pick({ id: true, name: true, enabled: true, password: true, otpkeys: true }).partial({ otpkeys: true });
const listedColumns = rowColumns<Immutable<z.output<ReturnType<typeof listedSchema>>>, "id">(
  { kind: "user", version: schemaVersion, keyed: ["id"] },
  listedSchema,
);

/** Returns a page of the users who match a filter, sorted by name if the filter has its beginning, else by id. */
export function listUsers(tables: AuthTables, { after, top }: Range, filter: UserFilter): Promise<Page<UserSummary>> {
  const { beginning, attributes, ...others } = filter;
  const isFiltered = (attributes?.size ?? 0) > 0 || Object.values(others).some(condition => condition !== undefined);
  const options = { top, isFiltered };
  if (beginning !== undefined)
    return pageOf(examineNames(tables, foldUsername(beginning), after, filter, options), options);
  const indexes = indexesOf(tables, filter);
  if (indexes.length === 0) return pageOf(examineAll(tables, after, filter, options), options);
  const find = async (id: string) => findMatch(tables, await readUserRows(tables, Number(id)), filter);
  return pageOf(examineEach(candidatesIn(indexes, Number(after ?? 0) + 1), top, find), options);
}

/** Examines the rows of all partitions: a call for 1,000 rows. Reads hashes only for a filter by imported passwords. */
async function* examineAll(
  tables: AuthTables,
  after: string | undefined,
  filter: UserFilter,
  options: ListOptions,
): AsyncGenerator<Examined<UserSummary>> {
  const { unusedSince, hasImportedPassword } = filter;
  const range = {
    afterPartition: idKey(Number(after ?? 0)),
    ...(unusedSince === undefined
      ? { rowKeys: [userRow] }
      : { beforePartition: idKey(firstIdAt(unusedSince)), rowKeys: [loginRow, userRow] }),
  };
  const select = [
    ...["schema", "gone", "name", "enabled"],
    ...(unusedSince === undefined ? [] : ["at"]),
    ...(hasImportedPassword === undefined ? [] : ["password"]),
  ];
  let login: Row | undefined;
  for await (const row of rowsOf(tables.users, range, { ...options, select })) {
    if (row.rowKey === loginRow) {
      login = row;
      continue;
    }
    const rows = login?.partitionKey === row.partitionKey ? { user: row, login } : { user: row };
    yield [String(Number(row.partitionKey)), await findMatch(tables, rows, filter)];
  }
}

/** Location of the rows of an index: one for each user who may have a value or an OTP key, sorted by id. */
interface UserIndex {
  readonly table: Table;
  readonly partitionKey: string;
  readonly rowKeyPrefix: string;
}

/** Returns the indexes of the conditions of a filter. */
const indexesOf = (
  { index, otpkeys }: AuthTables,
  { attributes = new Map(), otpkey }: UserFilter,
): readonly UserIndex[] => [
  ...[...attributes].map(([key, value]) => ({
    table: index,
    partitionKey: attributePartition(key, value),
    rowKeyPrefix: "",
  })),
  ...(otpkey === undefined ? [] : [{ table: otpkeys, partitionKey: otpkey, rowKeyPrefix: holderPrefix }]),
];

/**
 * Yields the ids that all indexes may have, so that the cost depends on the number of matches and not on the number of
 * users (A11). Reads a page of each index. The page that reaches farthest names the candidates, because it contains all
 * matches up to its end. A candidate that another page covers but does not contain is dropped.
 */
async function* candidatesIn(indexes: readonly UserIndex[], first: number): AsyncGenerator<string> {
  for (let from = first; Number.isFinite(from); ) {
    const pages = await Promise.all(indexes.map(index => readIndexPage(index, from)));
    const [farthest] = pages.sort((one, other) => other.reach - one.reach || one.ids.size - other.ids.size);
    const { ids, reach } = farthest ?? { ids: [], reach: Number.POSITIVE_INFINITY };
    for (const id of ids) if (pages.every(page => id > page.reach || page.ids.has(id))) yield String(id);
    from = reach + 1;
  }
}

/** Returns the ids of a page of an index, and the id up to which the page is complete. */
async function readIndexPage(
  { table, partitionKey, rowKeyPrefix }: UserIndex,
  from: number,
): Promise<{ readonly ids: ReadonlySet<number>; readonly reach: number }> {
  const range = { partitionKey, from: rowKeyPrefix + idKey(from), rowKeyPrefix };
  let page: RowPage = { rows: [] };
  do {
    page = await table.queryPage(range, { top: 1000, continuation: page.continuation, select: [] });
  } while (page.continuation !== undefined && page.rows.length === 0);
  const ids = page.rows.map(({ rowKey }) => idAtEnd(rowKey));
  const last = ids.at(-1);
  return { ids: new Set(ids), reach: page.continuation && last ? last : Number.POSITIVE_INFINITY };
}

/** Examines the users whose names begin with a folded text, sorted by name. */
function examineNames(
  tables: AuthTables,
  beginning: string,
  after: string | undefined,
  filter: UserFilter,
  options: ListOptions,
): AsyncIterable<Examined<UserSummary>> {
  // Starts after the row `after`: no row key sorts between a row key and the same row key with a space.
  const from = after === undefined ? undefined : `${after} `;
  const range = { partitionKey: byName, rowKeyPrefix: nameKey(beginning), from };
  async function* rowKeys() {
    for await (const { rowKey } of rowsOf(tables.index, range, options)) yield rowKey;
  }
  return examineEach(rowKeys(), options.top, async rowKey =>
    findMatch(tables, await readUserRows(tables, idAtEnd(rowKey)), filter, ({ id, name }) => {
      const folded = foldUsername(name);
      // Exactly this row, so that a user who is being renamed, with a row of each name, is not listed twice.
      return folded.startsWith(beginning) && listHint(folded, id).rowKey === rowKey;
    }),
  );
}

/** Returns the user of the rows, if all conditions are true. Logs rows that cannot be read. */
const findMatch = (
  { log }: AuthTables,
  rows: OwnRows,
  { attributes = new Map(), otpkey, enabled, unusedSince, hasImportedPassword }: UserFilter,
  isNamed: (user: UserSummary) => boolean = () => true,
): Promise<UserSummary | undefined> =>
  readOrLog(log, () => {
    const row = rows.user;
    if (row === undefined || isGone(row)) return undefined;
    const user = listedColumns.fromRow(row, { id: Number(row.partitionKey) });
    if (!isNamed(user)) return undefined;
    const { id, name } = user;
    const isImported = user.password?.imported !== undefined;
    const own = attributes.size === 0 ? {} : attributesIn(rows.attributes);
    const isMatch =
      (enabled === undefined || user.enabled === enabled) &&
      (hasImportedPassword === undefined || isImported === hasImportedPassword) &&
      (otpkey === undefined || user.otpkeys?.some(({ prefix }) => prefix === otpkey)) &&
      (unusedSince === undefined || (lastLoginIn(rows.login) ?? createdAt(id)) < unusedSince) &&
      [...attributes].every(([key, value]) => attributeOf(own, key) === value);
    return isMatch ? { id, name } : undefined;
  });
