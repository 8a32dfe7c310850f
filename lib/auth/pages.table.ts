import type { Filter, Row, RowPage, Scan, Table } from "../platform/azure/tables.ts";
import type { Page } from "./store.ts";

/** Maximum number of entries that a page of a filtered list examines: it bounds the storage calls. */
const maxExamined = 1000;

/** What a list examines: its position in the list, and the entry if it matches. */
export type Examined<T> = readonly [position: string, entry: T | undefined];

export interface ListOptions {
  /** Maximum number of entries. */
  readonly top: number;
  readonly isFiltered: boolean;
  /** Properties of a row to read; default: all. */
  readonly select?: readonly string[];
}

/** Returns the first matches of a list, which is examined in its order. */
export async function pageOf<T>(
  examined: AsyncIterable<Examined<T>>,
  { top, isFiltered }: ListOptions,
): Promise<Page<T>> {
  const entries: T[] = [];
  let count = 0;
  let last: { readonly next?: string } = {};
  for await (const [position, entry] of examined) {
    if (entry !== undefined && entries.length === top) return { entries, ...last };
    if (entry !== undefined) entries.push(entry);
    last = { next: position };
    count += 1;
    if (isFiltered && count === maxExamined) return { entries, ...last };
  }
  return { entries };
}

/** Yields the rows of a range, as many in a call as its page needs. */
export async function* rowsOf(
  table: Table,
  range: Filter | Scan,
  { top, isFiltered, select }: ListOptions,
): AsyncGenerator<Row> {
  // One row more says whether a page follows, and another one that the first has no further rows.
  const size = isFiltered ? maxExamined : top + 2;
  let page: RowPage = { rows: [] };
  do {
    page = await table.queryPage(range, { top: Math.min(size, 1000), continuation: page.continuation, select });
    yield* page.rows;
  } while (page.continuation !== undefined);
}

/** Number of users that are read in parallel. */
const groupSize = 32;

/** Examines positions in parallel, a group at a time as they are needed. Keeps their order. */
export async function* examineEach<T>(
  positions: AsyncIterable<string>,
  top: number,
  examine: (position: string) => Promise<T | undefined>,
): AsyncGenerator<Examined<T>> {
  const size = Math.min(groupSize, top + 1);
  let group: string[] = [];
  const results = () => Promise.all(group.map(async position => [position, await examine(position)] as const));
  for await (const position of positions) {
    group.push(position);
    if (group.length < size) continue;
    yield* await results();
    group = [];
  }
  yield* await results();
}
