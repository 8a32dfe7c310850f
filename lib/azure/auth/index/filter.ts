import type { Page, Range, UserFilter, UserSummary } from "../../../auth/store.ts";
import type { Log } from "../../../log.ts";
import { conflict, retryOnConflict } from "../../../retry-on-conflict.ts";
import type { Instant } from "../../../time.ts";
import { mapConcurrently, readRows } from "../../tables/row-batches.ts";
import { readOrLog } from "../../tables/row-schema.ts";
import type { Row } from "../../tables/tables.ts";
import { checkedVersion, fromUserRow, idKey, lastLoginIn, loginRow, userRow } from "../rows/rows.ts";
import type { AuthTables } from "../rows/tables.ts";
import { findMatches, maxExamined, pageOf } from "./id-lists.ts";
import { createdAt } from "./ids.ts";
import { assignmentEntry, attributeEntry, type IndexEntry, matchesEntry, userReferencedBy } from "./index-entries.ts";
import { readAtUser } from "./locate-user.ts";
import { removeStaleIndexRow } from "./stale-index-rows.ts";

/**
 * Returns the users for whom all entries are true. Reads the entries' index rows, so that the cost depends on the number of matches
 * and not on the number of users (A11).
 */
export async function filteredUsers(
  tables: AuthTables,
  filter: UserFilter,
  { after = 0, top }: Range,
): Promise<Page<UserSummary>> {
  const entries = entriesOf(tables, filter);
  const { unusedSince } = filter;
  const examine = (candidate: Candidate) =>
    readOrLog(tables.log, async () => {
      const user = await checkCandidate(tables, entries, candidate);
      const isMatch =
        user !== undefined && (unusedSince === undefined || (await isUnused(tables, candidate, unusedSince)));
      return isMatch ? user : undefined;
    });
  const found: UserSummary[] = [];
  let examined = 0;
  let from = after + 1;
  while (examined < maxExamined) {
    const { candidates, next } = await candidatesFrom(entries, from, tables.log);
    found.push(...(await findMatches(candidates, top - found.length, examine)));
    if (found.length > top || next === undefined) return pageOf(found, top);
    examined += candidates.length;
    from = next;
  }
  return { entries: found, next: from - 1 };
}

/** Returns whether a user matches every condition of a filter. */
export async function matchesFilter(
  tables: AuthTables,
  filter: UserFilter,
  user: { readonly userHash: string; readonly id: number },
): Promise<boolean> {
  const entries = entriesOf(tables, filter);
  const { unusedSince } = filter;
  if (unusedSince !== undefined && !(await isUnused(tables, user, unusedSince))) return false;
  return entries.length === 0 || (await checkCandidate(tables, entries, { ...user, pointed: [] })) !== undefined;
}

/**
 * Returns whether a user was created before a time and has not signed in since. Follows a rename: a list row can name
 * the partition before the rows are there, and an index row the former one, where later sign-ins are missing.
 */
async function isUnused(
  tables: AuthTables,
  user: { readonly userHash: string; readonly id: number },
  since: Instant,
): Promise<boolean> {
  const { id } = user;
  const range = { from: loginRow, before: `${userRow}:` };
  const read = (userHash: string) => Array.fromAsync(tables.users.query({ partitionKey: userHash, ...range }));
  const rowIn = (rows: readonly Row[], rowKey: string) => rows.find(row => row.rowKey === rowKey);
  const found = await readAtUser(tables, { by: "userHash", userHash: user.userHash, id }, read, rows =>
    rowIn(rows, userRow),
  );
  const lastLogin = lastLoginIn(rowIn(found?.result ?? [], loginRow), id);
  return (lastLogin ?? createdAt(id)) < since;
}

const entriesOf = (tables: AuthTables, { attributes, otpkey }: UserFilter): readonly IndexEntry[] => [
  ...[...attributes].map(([key, value]) => attributeEntry(tables, key, value)),
  ...(otpkey === undefined ? [] : [assignmentEntry(tables, otpkey)]),
];

/** A user to whom index rows point, with those index rows. */
interface Candidate {
  readonly id: number;
  readonly userHash: string;
  readonly pointed: readonly { readonly entry: IndexEntry; readonly row: Row }[];
}

interface Candidates {
  readonly candidates: readonly Candidate[];
  /** The id at which to continue; absent at the end. */
  readonly next?: number;
}

/**
 * Reads one page of each entry's index, starting at an id. The page that reaches farthest names the candidates, because it contains all
 * matches up to its end. A candidate that another page covers but does not contain is dropped.
 */
async function candidatesFrom(entries: readonly IndexEntry[], from: number, log: Log): Promise<Candidates> {
  const pages = await Promise.all(entries.map(entry => indexPage(entry, from, log)));
  const [farthest] = [...pages].sort((one, other) => other.reach - one.reach || one.rows.size - other.rows.size);
  if (farthest === undefined) return { candidates: [] };
  const candidates: Candidate[] = [];
  for (const [id, row] of farthest.rows) {
    if (pages.some(({ rows, reach }) => id <= reach && !rows.has(id))) continue;
    const pointed = pages.flatMap(({ entry, rows }) => {
      const own = rows.get(id);
      return own === undefined ? [] : [{ entry, row: own }];
    });
    candidates.push({ ...userReferencedBy(farthest.entry, row), pointed });
  }
  return Number.isFinite(farthest.reach) ? { candidates, next: farthest.reach + 1 } : { candidates };
}

interface IndexPage {
  readonly entry: IndexEntry;
  readonly rows: ReadonlyMap<number, Row>;
  /** The id up to which the page is complete. */
  readonly reach: number;
}

async function indexPage(entry: IndexEntry, from: number, log: Log): Promise<IndexPage> {
  const { table, partitionKey, rowKeyPrefix } = entry.index;
  const range = { partitionKey, from: rowKeyPrefix + idKey(from), rowKeyPrefix };
  const rows = new Map<number, Row>();
  let continuation: string | undefined;
  do {
    const page = await table.queryPage(range, { top: 1000, continuation });
    for (const row of page.rows) {
      const pointed = await readOrLog(log, () => userReferencedBy(entry, checkedVersion(row)));
      if (pointed !== undefined) rows.set(pointed.id, row);
    }
    ({ continuation } = page);
  } while (continuation !== undefined && rows.size === 0);
  const last = [...rows.keys()].at(-1);
  return { entry, rows, reach: continuation === undefined || last === undefined ? Number.POSITIVE_INFINITY : last };
}

/** Returns the candidate if all entries were true at one moment; else removes its stale index rows. */
async function checkCandidate(
  tables: AuthTables,
  entries: readonly IndexEntry[],
  candidate: Candidate,
): Promise<UserSummary | undefined> {
  const { id } = candidate;
  const rowKeys = [userRow, ...entries.map(({ rowKey }) => rowKey)];
  const read = async (userHash: string) => {
    const found = await readRows(tables.users, userHash, rowKeys);
    return [entries.map(({ rowKey }) => found.get(rowKey)), found.get(userRow)] as const;
  };
  const areTrue = (rows: readonly (Row | undefined)[]) =>
    entries.every((entry, index) => matchesEntry(rows[index], id, entry));

  let before: string | undefined;
  return retryOnConflict(async () => {
    const found = await readAtUser(
      tables,
      { by: "userHash", ...candidate },
      read,
      ([, row]) => row,
      ([some]) => candidate.pointed.length === 0 || areTrue(some),
    );
    const [rows = [], user] = [found?.result[0], found?.user];
    if (!areTrue(rows) || user === undefined) {
      const isStale = (entry: IndexEntry) =>
        user === undefined || !matchesEntry(rows[entries.indexOf(entry)], id, entry);
      const stale = candidate.pointed.filter(({ entry }) => isStale(entry));
      await mapConcurrently(stale, ({ entry, row }) => removeStaleIndexRow(tables, entry, row));
      return undefined;
    }
    // Rows that are read while writers change them may never have been true together, so a second read must find them
    // unchanged.
    const versions = rows.map(row => row?.etag).join();
    if (entries.length === 1 || versions === before) {
      const { name } = fromUserRow(user).value;
      return { id, name };
    }
    before = versions;
    return conflict;
  });
}
