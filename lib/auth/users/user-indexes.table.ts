import type { RowPage, Table } from "../../platform/tables/tables.ts";
import { attributePartition, holderPrefix } from "../storage/hints.table.ts";
import { type AuthTables, idAtEnd, idKey } from "../storage/tables.table.ts";
import type { UserFilter } from "../store.ts";

/** Location of the rows of an index: one for each user who may have a value or an OTP key, sorted by id. */
interface UserIndex {
  readonly table: Table;
  readonly partitionKey: string;
  readonly rowKeyPrefix: string;
}

/** Returns the indexes of the conditions of a filter. */
export const indexesOf = ({ index, otpkeys }: AuthTables, { attributes, otpkey }: UserFilter): readonly UserIndex[] => [
  ...[...attributes].map(([key, value]) => ({
    table: index,
    partitionKey: attributePartition(key, value),
    rowKeyPrefix: "",
  })),
  ...(otpkey === undefined ? [] : [{ table: otpkeys, partitionKey: otpkey, rowKeyPrefix: holderPrefix }]),
];

/**
 * Reads one page of each index, starting at an id, and returns the ids that all of them may have. The page that reaches
 * farthest names the candidates, because it contains all matches up to its end. A candidate that another page covers
 * but does not contain is dropped.
 * @returns `next`: the id at which to continue; absent at the end
 */
export async function candidatesFrom(
  indexes: readonly UserIndex[],
  from: number,
): Promise<{ readonly candidates: readonly number[]; readonly next?: number }> {
  const pages = await Promise.all(indexes.map(index => readIndexPage(index, from)));
  const [farthest] = [...pages].sort((one, other) => other.reach - one.reach || one.ids.size - other.ids.size);
  if (farthest === undefined) return { candidates: [] };
  const candidates = [...farthest.ids].filter(id => pages.every(({ ids, reach }) => id > reach || ids.has(id)));
  return Number.isFinite(farthest.reach) ? { candidates, next: farthest.reach + 1 } : { candidates };
}

interface IndexPage {
  readonly ids: ReadonlySet<number>;
  /** The id up to which the page is complete. */
  readonly reach: number;
}

async function readIndexPage({ table, partitionKey, rowKeyPrefix }: UserIndex, from: number): Promise<IndexPage> {
  const range = { partitionKey, from: rowKeyPrefix + idKey(from), rowKeyPrefix };
  let page: RowPage = { rows: [] };
  do {
    page = await table.queryPage(range, { top: 1000, continuation: page.continuation, select: [] });
  } while (page.continuation !== undefined && page.rows.length === 0);
  const ids = page.rows.map(({ rowKey }) => idAtEnd(rowKey));
  const last = ids.at(-1);
  const isComplete = page.continuation === undefined || last === undefined;
  return { ids: new Set(ids), reach: isComplete ? Number.POSITIVE_INFINITY : last };
}
