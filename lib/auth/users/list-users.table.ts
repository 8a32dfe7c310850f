import { chunksOf } from "../../platform/collections.ts";
import { mapConcurrently } from "../../platform/tables/row-batches.ts";
import { readOrLog } from "../../platform/tables/row-columns.ts";
import type { RowPage } from "../../platform/tables/tables.ts";
import { attributesIn } from "../attributes/attribute-rows.table.ts";
import { byName, listHint, nameKey } from "../storage/hints.table.ts";
import { createdAt, firstIdAt } from "../storage/ids.ts";
import { type AuthTables, idAtEnd, idKey } from "../storage/tables.table.ts";
import type { Page, Range, User, UserFilter, UserSummary } from "../store.ts";
import { candidatesFrom, indexesOf } from "./user-indexes.table.ts";
import {
  hasImportedHash,
  lastLoginIn,
  loginRow,
  readUserRows,
  summaryIn,
  summarySelect,
  userIn,
  userRow,
} from "./user-rows.table.ts";
import { foldUsername } from "./username.ts";

/** Maximum number of users that a page of a filtered list examines: it bounds the storage calls. */
const maxExamined = 1000;

/** Returns a page of the users who match a filter, sorted by id. */
export function listUsers(tables: AuthTables, range: Range, filter: UserFilter): Promise<Page<UserSummary>> {
  const { attributes, otpkey } = filter;
  return attributes.size > 0 || otpkey !== undefined
    ? listByIndex(tables, range, filter)
    : listById(tables, range, filter);
}

/**
 * Reads the rows `user` of all partitions, and for users unused since a time their rows `login`: a call for 1,000 rows.
 */
async function listById(
  tables: AuthTables,
  { after = 0, top }: Range,
  { unusedSince, enabled, hasImportedPassword }: UserFilter,
): Promise<Page<UserSummary>> {
  const isFiltered = unusedSince !== undefined || enabled !== undefined || hasImportedPassword !== undefined;
  const range = {
    afterPartition: idKey(after),
    beforePartition: unusedSince === undefined ? undefined : idKey(firstIdAt(unusedSince)),
    rowKeys: unusedSince === undefined ? [userRow] : [loginRow, userRow],
  };
  const entries: UserSummary[] = [];
  let login: RowPage["rows"][number] | undefined;
  let examined = 0;
  let last = after;
  let continuation: string | undefined;
  do {
    const read = isFiltered ? 2 * maxExamined : top + 1 - entries.length;
    const page: RowPage = await tables.users.queryPage(range, {
      top: Math.min(1000, read),
      continuation,
      select: [
        ...summarySelect,
        ...(unusedSince === undefined ? [] : ["at"]),
        ...(hasImportedPassword === undefined ? [] : ["password"]),
      ],
    });
    for (const row of page.rows) {
      if (row.rowKey === loginRow) {
        login = row;
        continue;
      }
      const own = login?.partitionKey === row.partitionKey ? login : undefined;
      const entry = await readOrLog(tables.log, () => {
        const user = summaryIn(row);
        if (enabled !== undefined && row.enabled !== enabled) return undefined;
        if (hasImportedPassword !== undefined && hasImportedHash(row) !== hasImportedPassword) return undefined;
        if (user === undefined || unusedSince === undefined) return user;
        return (lastLoginIn(own) ?? createdAt(user.id)) < unusedSince ? user : undefined;
      });
      examined += 1;
      last = Number(row.partitionKey);
      if (entry !== undefined) entries.push(entry);
    }
    ({ continuation } = page);
  } while (continuation !== undefined && entries.length <= top && (!isFiltered || examined < maxExamined));
  if (entries.length > top) return pageOf(entries, top, ({ id }) => id);
  return continuation === undefined ? { entries } : { entries, next: last };
}

/** Returns the first `top` of more entries, with the position of the last one. */
function pageOf<T, P>(entries: readonly T[], top: number, positionOf: (entry: T) => P): Page<T, P> {
  const shown = entries.slice(0, top);
  const last = shown.at(-1);
  return entries.length > top && last !== undefined ? { entries: shown, next: positionOf(last) } : { entries: shown };
}

/**
 * Reads the index rows of every condition and then the rows of each candidate, so that the cost depends on the number
 * of matches and not on the number of users (A11).
 */
async function listByIndex(
  tables: AuthTables,
  { after = 0, top }: Range,
  filter: UserFilter,
): Promise<Page<UserSummary>> {
  const indexes = indexesOf(tables, filter);
  const found: UserSummary[] = [];
  let examined = 0;
  let from = after + 1;
  while (examined < maxExamined) {
    const { candidates, next } = await candidatesFrom(indexes, from);
    found.push(...(await findMatches(candidates, top - found.length, id => findMatch(tables, id, filter))));
    if (found.length > top || next === undefined) return pageOf(found, top, ({ id }) => id);
    examined += candidates.length;
    from = next;
  }
  return { entries: found, next: from - 1 };
}

/** Returns a page of the users whose names begin with a text and who match a filter, sorted by name. */
export async function listUsersByName(
  tables: AuthTables,
  prefix: string,
  { after, top }: Range<string>,
  filter: UserFilter,
): Promise<Page<UserSummary, string>> {
  const beginning = foldUsername(prefix);
  const { attributes, ...others } = filter;
  const isFiltered = attributes.size > 0 || Object.values(others).some(condition => condition !== undefined);
  const range = {
    partitionKey: byName,
    rowKeyPrefix: nameKey(beginning),
    // Starts after the row `after`: no row key sorts between a row key and the same row key with a space.
    ...(after !== undefined && { from: `${after} ` }),
  };
  const examine = (rowKey: string) =>
    findMatch(tables, idAtEnd(rowKey), filter, ({ id, name }) => {
      const folded = foldUsername(name);
      // Exactly this row, so that a user who is being renamed, with a row of each name, is not listed twice.
      return folded.startsWith(beginning) && listHint(folded, id).rowKey === rowKey;
    });
  const found: UserSummary[] = [];
  let page: RowPage = { rows: [] };
  let examined = 0;
  let last = after;
  do {
    const read = isFiltered ? maxExamined : top + 1 - found.length;
    page = await tables.index.queryPage(range, { top: Math.min(1000, read), continuation: page.continuation });
    const rowKeys = page.rows.map(({ rowKey }) => rowKey);
    found.push(...(await findMatches(rowKeys, top - found.length, examine)));
    examined += rowKeys.length;
    last = rowKeys.at(-1) ?? last;
  } while (page.continuation !== undefined && found.length <= top && examined < maxExamined);
  if (found.length > top) return pageOf(found, top, ({ id, name }) => listHint(foldUsername(name), id).rowKey);
  return page.continuation !== undefined && last !== undefined ? { entries: found, next: last } : { entries: found };
}

/** Number of users that are read in parallel. */
const batchSize = 32;

/** Returns the matches among candidates, in order. Stops after the batch in which it finds more than `top`. */
async function findMatches<C, T>(
  candidates: readonly C[],
  top: number,
  examine: (candidate: C) => Promise<T | undefined>,
): Promise<readonly T[]> {
  const found: T[] = [];
  for (const some of chunksOf(candidates, batchSize)) {
    if (found.length > top) break;
    const entries = await mapConcurrently(some, examine);
    for (const entry of entries) if (entry !== undefined) found.push(entry);
  }
  return found;
}

/** Returns a user who matches all conditions, from one read. Logs rows that cannot be read. */
const findMatch = (
  tables: AuthTables,
  id: number,
  { attributes, otpkey, enabled, unusedSince, hasImportedPassword }: UserFilter,
  isNamed: (user: User) => boolean = () => true,
): Promise<UserSummary | undefined> =>
  readOrLog(tables.log, async () => {
    const rows = await readUserRows(tables, id);
    const user = userIn(rows.user)?.value;
    if (user === undefined || !isNamed(user)) return undefined;
    if (enabled !== undefined && user.enabled !== enabled) return undefined;
    const isImported = user.password?.imported !== undefined;
    if (hasImportedPassword !== undefined && isImported !== hasImportedPassword) return undefined;
    if (otpkey !== undefined && !user.otpkeys.some(({ prefix }) => prefix === otpkey)) return undefined;
    if (unusedSince !== undefined && (lastLoginIn(rows.login) ?? createdAt(id)) >= unusedSince) return undefined;
    if (attributes.size > 0) {
      const own = new Map(Object.entries(attributesIn(rows.attributes)));
      if ([...attributes].some(([key, value]) => own.get(key) !== value)) return undefined;
    }
    return rows.user && summaryIn(rows.user);
  });
