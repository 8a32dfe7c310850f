import type { Page, Range, UserFilter, UserSummary } from "../../../auth/store.ts";
import type { Log } from "../../../log.ts";
import { minutes, plus } from "../../../time.ts";
import { mapConcurrently } from "../../tables/many.ts";
import { parseRow, readOrLog } from "../../tables/row-schema.ts";
import type { Row } from "../../tables/tables.ts";
import { indexSchema } from "../rows/row-schemas.ts";
import { checkedVersion, fromUserRow, idKey, ownerOf, userRow } from "../rows/rows.ts";
import type { AuthTables } from "../rows/tables.ts";
import { pageOf } from "./id-lists.ts";
import {
  agrees,
  assignmentEntry,
  attributeEntry,
  type IndexEntry,
  referencedBy,
  removeIndexRow,
} from "./index-entries.ts";

/**
 * The users of whom all facts are true, by the facts' index rows: a read or two for each match, whatever other users there are
 * (decision A11).
 */
export async function filteredUsers(
  shelves: AuthTables,
  filter: UserFilter,
  { after = 0, top }: Range,
): Promise<Page<UserSummary>> {
  const facts = factsOf(shelves, filter);
  const found: UserSummary[] = [];
  let from: number | undefined = after + 1;
  while (from !== undefined && found.length <= top) {
    const { candidates, next }: Candidates = await candidatesFrom(facts, from, shelves.log);
    for (let start = 0; start < candidates.length && found.length <= top; start += atOnce) {
      const some = candidates.slice(start, start + atOnce);
      const users = await mapConcurrently(some, candidate =>
        readOrLog(shelves.log, () => check(shelves, facts, candidate)),
      );
      for (const user of users) if (user !== undefined) found.push(user);
    }
    from = next;
  }
  return pageOf(found, top);
}

const atOnce = 32;

const factsOf = (shelves: AuthTables, { attributes, otpkey }: UserFilter): readonly IndexEntry[] => [
  ...[...attributes].map(([key, value]) => attributeEntry(shelves, key, value)),
  ...(otpkey === undefined ? [] : [assignmentEntry(shelves, otpkey)]),
];

/** A user whom one of the facts' index rows names, and those of the others that are known to. */
interface Candidate {
  readonly id: number;
  readonly handle: string;
  readonly pointed: readonly { readonly fact: IndexEntry; readonly row: Row }[];
}

interface Candidates {
  readonly candidates: readonly Candidate[];
  /** Where to go on; absent at the end. */
  readonly next?: number;
}

/**
 * Reads as far as one page of each fact's index goes, from an id on. The page that reaches farthest names the candidates, as all
 * matches up to its end are in it; those that another page does not have, though it reaches them, are none.
 */
async function candidatesFrom(facts: readonly IndexEntry[], from: number, log: Log): Promise<Candidates> {
  const pages = await Promise.all(facts.map(fact => indexPage(fact, from, log)));
  const [farthest] = [...pages].sort((one, other) => other.reach - one.reach || one.rows.size - other.rows.size);
  if (farthest === undefined) return { candidates: [] };
  const candidates: Candidate[] = [];
  for (const [id, row] of farthest.rows) {
    if (pages.some(({ rows, reach }) => id <= reach && !rows.has(id))) continue;
    const pointed = pages.flatMap(({ fact, rows }) => {
      const own = rows.get(id);
      return own === undefined ? [] : [{ fact, row: own }];
    });
    candidates.push({ ...referencedBy(farthest.fact, row), pointed });
  }
  return Number.isFinite(farthest.reach) ? { candidates, next: farthest.reach + 1 } : { candidates };
}

interface IndexPage {
  readonly fact: IndexEntry;
  readonly rows: ReadonlyMap<number, Row>;
  /** The last id up to which these are all. */
  readonly reach: number;
}

async function indexPage(fact: IndexEntry, from: number, log: Log): Promise<IndexPage> {
  const { table, partitionKey, rowKeyPrefix } = fact.index;
  const range = { partitionKey, from: rowKeyPrefix + idKey(from), rowKeyPrefix };
  const rows = new Map<number, Row>();
  let continuation: string | undefined;
  do {
    const page = await table.queryPage(range, { top: 1000, continuation });
    for (const row of page.rows) {
      const pointed = await readOrLog(log, () => referencedBy(fact, checkedVersion(row)));
      if (pointed !== undefined) rows.set(pointed.id, row);
    }
    ({ continuation } = page);
  } while (continuation !== undefined && rows.size === 0);
  const last = [...rows.keys()].at(-1);
  return { fact, rows, reach: continuation === undefined || last === undefined ? Number.POSITIVE_INFINITY : last };
}

/** The user, where all facts were true at one moment. */
async function check(
  shelves: AuthTables,
  facts: readonly IndexEntry[],
  candidate: Candidate,
): Promise<UserSummary | undefined> {
  const { users } = shelves;
  const { handle, id } = candidate;
  const read = () => Promise.all(facts.map(fact => users.get(handle, fact.rowKey)));
  const areTrue = (rows: readonly (Row | undefined)[]) => facts.every((fact, index) => agrees(rows[index], id, fact));

  let before: string | undefined;
  for (;;) {
    const [rows, named] = await Promise.all([read(), users.get(handle, userRow)]);
    if (!areTrue(rows) || ownerOf(named) !== id) {
      const isStale = (fact: IndexEntry) => ownerOf(named) !== id || !agrees(rows[facts.indexOf(fact)], id, fact);
      const stale = candidate.pointed.filter(({ fact }) => isStale(fact));
      await mapConcurrently(stale, ({ fact, row }) => forgetStale(shelves, fact, row));
      return undefined;
    }
    // Read one after another, several may each have been true, and never together: so they must be found unchanged again.
    const versions = rows.map(row => row?.etag).join();
    if (named !== undefined && (facts.length === 1 || versions === before)) {
      const { name } = fromUserRow(named).value;
      return { id, name };
    }
    before = versions;
  }
}

/** Longer than any call takes: whoever wrote the index row is through with it, or crashed. */
const givenMs = minutes(10);

async function forgetStale(shelves: AuthTables, fact: IndexEntry, row: Row): Promise<void> {
  if (plus(parseRow("index", row, indexSchema, row).writtenAt, givenMs) > shelves.now()) return;
  await removeIndexRow(shelves, fact, row, { keepFact: true });
}
