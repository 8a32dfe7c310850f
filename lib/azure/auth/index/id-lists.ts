import type { Page, Range } from "../../../auth/store.ts";
import { chunksOf } from "../../../chunks.ts";
import { type Instant, minutes, plus } from "../../../time.ts";
import { mapConcurrently } from "../../tables/row-batches.ts";
import { parseRow, readOrLog, storedInstant } from "../../tables/row-schema.ts";
import type { Row } from "../../tables/tables.ts";
import { checkedVersion, idKey } from "../rows/rows.ts";
import type { AuthTables } from "../rows/tables.ts";
import { firstIdAt } from "./ids.ts";
import { type ListName, markClean, type Shown } from "./list-rows.ts";

/** How a list reads and repairs the owners of its rows. */
export interface ListOwners<T> {
  /** Returns the entry of a clean list row. */
  fromListed(row: Row): T;
  /** Reads the owner's row, if the owner of that id exists. */
  find(listed: Row): Promise<Row | undefined>;
  /** Returns the entry of an owner's row. */
  fromRow(row: Row): T;
  /** Rewrites the owner's row by its version, so that a writer that is about to change it gets a conflict. */
  touch(row: Row): Promise<boolean>;
  shown(row: Row): Shown;
  /**
   * Returns whether a list row is for the owner's current name. A list sorted by name can have a row of a former name.
   */
  isRowOf(listed: Row, owner: Row): boolean;
  /** Deletes what a crashed deletion has left, the list row last. */
  sweep(listed: Row): Promise<void>;
}

/** Returns a page sorted by id: one read for a thousand entries, and one for each dirty row. Skips and logs unreadable rows. */
export async function listPage<T extends { readonly id: number }>(
  tables: AuthTables,
  list: ListName,
  owners: ListOwners<T>,
  { after = 0, top }: Range,
): Promise<Page<T>> {
  const entries: T[] = [];
  let continuation: string | undefined;
  do {
    const page: { rows: readonly Row[]; continuation?: string } = await tables.ids.queryPage(
      { partitionKey: list, from: idKey(after + 1) },
      { top: Math.min(1000, top + 1 - entries.length), continuation },
    );
    const found = await mapConcurrently(page.rows, row =>
      readOrLog(tables.log, () => entryOf(tables, owners, checkedVersion(row))),
    );
    for (const entry of found) if (entry !== undefined) entries.push(entry);
    ({ continuation } = page);
  } while (continuation !== undefined && entries.length <= top);
  return pageOf(entries, top);
}

export function pageOf<T extends { readonly id: number }>(entries: readonly T[], top: number): Page<T> {
  const shown = entries.slice(0, top);
  const last = shown.at(-1);
  return entries.length > top && last !== undefined ? { entries: shown, next: last.id } : { entries: shown };
}

/** Maximum number of list rows or candidates that a page of a filtered list examines: it bounds the storage calls. */
export const maxExamined = 1000;

/** How a list is filtered. */
export interface ListFilter<T> {
  /** Returns whether an entry matches. May read its owner. */
  isMatch(entry: T, listed: Row): Promise<boolean>;
  /** Only entries that were created before this time. */
  readonly createdBefore?: Instant | undefined;
}

/** Returns the entries of a page that match, sorted by id. Examines one page of list rows. */
export async function filteredListPage<T extends { readonly id: number }>(
  tables: AuthTables,
  list: ListName,
  owners: ListOwners<T>,
  { after = 0, top }: Range,
  { isMatch, createdBefore }: ListFilter<T>,
): Promise<Page<T>> {
  const before = createdBefore === undefined ? {} : { before: idKey(firstIdAt(createdBefore)) };
  const range = { partitionKey: list, from: idKey(after + 1), ...before };
  let page: { rows: readonly Row[]; continuation?: string } = { rows: [] };
  do {
    page = await tables.ids.queryPage(range, { top: maxExamined, continuation: page.continuation });
  } while (page.rows.length === 0 && page.continuation !== undefined);
  const examine = (row: Row) =>
    readOrLog(tables.log, async () => {
      const entry = await entryOf(tables, owners, checkedVersion(row));
      return entry !== undefined && (await isMatch(entry, row)) ? entry : undefined;
    });
  const found = pageOf(await findMatches(page.rows, top, examine), top);
  const last = page.rows.at(-1);
  const isAtEnd = page.continuation === undefined || last === undefined;
  return found.next !== undefined || isAtEnd ? found : { ...found, next: Number(last.rowKey) };
}

/** Number of rows that are examined in parallel. */
const batchSize = 32;

/** Returns the matches among rows, in order. Stops after the batch in which it finds more than `top`. */
export async function findMatches<R, T>(
  rows: readonly R[],
  top: number,
  examine: (row: R) => Promise<T | undefined>,
): Promise<readonly T[]> {
  const found: T[] = [];
  for (const some of chunksOf(rows, batchSize)) {
    if (found.length > top) break;
    const entries = await mapConcurrently(some, examine);
    for (const entry of entries) if (entry !== undefined) found.push(entry);
  }
  return found;
}

/** Returns the entry of a list row; undefined without an owner. Reads the owner of a dirty row, and repairs the row. */
export async function entryOf<T>(tables: AuthTables, owners: ListOwners<T>, row: Row): Promise<T | undefined> {
  if (row.clean === true) return owners.fromListed(row);
  const owner = await owners.find(row);
  await repair(tables, owners, row, owner);
  return owner && owners.isRowOf(row, owner) ? owners.fromRow(owner) : undefined;
}

/** Longer than any call takes. After that the writer that marked the row dirty has finished or crashed. */
const repairAfterMs = { forOwner: minutes(10), withoutOwner: minutes(60) };

async function repair<T>(tables: AuthTables, owners: ListOwners<T>, row: Row, owner: Row | undefined) {
  const writtenAt = parseRow("list", row, storedInstant, row.writtenAt);
  const isOlderThan = (ms: number) => plus(writtenAt, ms) < tables.now();
  if (owner === undefined) {
    if (isOlderThan(repairAfterMs.withoutOwner)) await owners.sweep(row);
    return;
  }
  if (!isOlderThan(repairAfterMs.forOwner) || !(await owners.touch(owner))) return;
  const { partitionKey, rowKey, etag: version } = row;
  if (owners.isRowOf(row, owner)) {
    await markClean(tables, [{ keys: { partitionKey, rowKey }, version }], owners.shown(owner));
  } else {
    await tables.ids.remove(partitionKey, rowKey, version);
  }
}
