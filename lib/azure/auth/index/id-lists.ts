import type { Page, Range } from "../../../auth/store.ts";
import { type Instant, minutes, plus } from "../../../time.ts";
import type { Value } from "../../tables/entity.ts";
import { mapConcurrently } from "../../tables/many.ts";
import { conflict, retryOnConflict } from "../../tables/retry-on-conflict.ts";
import { parseRow, readOrLog, storedInstant } from "../../tables/row-schema.ts";
import type { Row } from "../../tables/tables.ts";
import { checkedVersion, idKey, schemaVersion } from "../rows/rows.ts";
import type { AuthTables } from "../rows/tables.ts";

/** The partition of the list in table `ids`. */
export type ListName = "users" | "otpkeys";

/** What the list shows of an entry, and by what its owner's row is found. */
type Shown = Readonly<Record<string, Value>>;

export const pointerRow = "pointer";

/** Where an id points to. */
const pointerRowOf = (list: ListName, id: number, shown: Shown) => ({
  schema: schemaVersion,
  ...shown,
  partitionKey: idKey(id),
  rowKey: pointerRow,
  list,
});

/** An entry of the list. */
export const listedRow = (
  list: ListName,
  id: number,
  columns: Shown & { readonly settled: boolean; readonly writtenAt: Instant },
) => ({ schema: schemaVersion, ...columns, partitionKey: list, rowKey: idKey(id) });

/**
 * A new id with its pointer, and its list row, which is open: it says only that the owner may exist. Ids are never given
 * twice, because pointers stay (decision A20).
 */
export const reserveId = ({ ids, now, random }: AuthTables, list: ListName, shown: Shown) =>
  retryOnConflict(async () => {
    const id = newId(now(), random);
    const [pointer, version] = await Promise.all([
      ids.insert(pointerRowOf(list, id, shown)),
      ids.insert(listedRow(list, id, { ...shown, settled: false, writtenAt: now() })),
    ]);
    if (pointer !== undefined && version !== undefined) return { id, version };
    if (version !== undefined) await ids.remove(list, idKey(id), version);
    return conflict;
  });

const idEpochMs = Date.UTC(2026, 0);
const idsAMs = 2 ** 12;

/** Milliseconds since 2026 and 12 random bits: below 2^53 for 69 years, in the order of creation, no counter to queue at. */
function newId(now: Instant, random: AuthTables["random"]): number {
  const [high = 0, low = 0] = random(2);
  const id = Math.max(0, Date.parse(now) - idEpochMs) * idsAMs + (((high << 8) | low) % idsAMs);
  return Math.max(1, id);
}

/** Where an id points to, whoever may be there. */
export async function pointerOf({ ids }: AuthTables, list: ListName, id: number): Promise<Row | undefined> {
  const row = checkedVersion(await ids.get(idKey(id), pointerRow));
  return row?.list === list ? row : undefined;
}

/**
 * Opens a list row. Before its owner appears, vanishes or changes what is shown, and after the version was read by which that is
 * written: then whoever settles the row meanwhile shows what is true.
 */
export const markDirty = ({ ids, now }: AuthTables, list: ListName, id: number, shown: Shown): Promise<string> =>
  ids.upsert({
    schema: schemaVersion,
    ...shown,
    partitionKey: list,
    rowKey: idKey(id),
    settled: false,
    writtenAt: now(),
  });

/** After the owner was written. Nothing happens where another opened the row since `version`. */
export async function markClean(
  { ids, now }: AuthTables,
  list: ListName,
  { id, version, shown }: { id: number; version: string; shown: Shown },
): Promise<void> {
  const row = { schema: schemaVersion, ...shown, settled: true, writtenAt: now() };
  await ids.replace({ ...row, partitionKey: list, rowKey: idKey(id) }, version);
}

export const removeListed = ({ ids }: AuthTables, list: ListName, id: number): Promise<boolean> =>
  ids.remove(list, idKey(id));

/** How a list finds out about an open row. */
export interface Owners<T> {
  fromListed(row: Row): T;
  /** The owner's row, where it is the one of that id. */
  find(listed: Row): Promise<Row | undefined>;
  fromRow(row: Row): T;
  /** Rewrites the owner's row by its version, so that whoever is about to change it begins again. */
  touch(row: Row): Promise<boolean>;
  shown(row: Row): Shown;
  /** Removes what a crashed deletion left, the list row last. */
  sweep(listed: Row): Promise<void>;
}

/** A page in the order of ids: one read for a thousand entries, and one for each open row. Rows that cannot be read are logged and left out. */
export async function listPage<T extends { readonly id: number }>(
  shelves: AuthTables,
  list: ListName,
  owners: Owners<T>,
  { after = 0, top }: Range,
): Promise<Page<T>> {
  const entries: T[] = [];
  let continuation: string | undefined;
  do {
    const page: { rows: readonly Row[]; continuation?: string } = await shelves.ids.queryPage(
      { partitionKey: list, from: idKey(after + 1) },
      { top: Math.min(1000, top + 1 - entries.length), continuation },
    );
    const found = await mapConcurrently(page.rows, row =>
      readOrLog(shelves.log, () => entryOf(shelves, list, owners, checkedVersion(row))),
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

async function entryOf<T>(shelves: AuthTables, list: ListName, owners: Owners<T>, row: Row): Promise<T | undefined> {
  if (row.settled === true) return owners.fromListed(row);
  const owner = await owners.find(row);
  await heal(shelves, list, owners, row, owner);
  return owner && owners.fromRow(owner);
}

/** Longer than any call takes: whoever opened the row is through with it, or crashed. */
const given = { forOwner: minutes(10), withoutOwner: minutes(60) };

async function heal<T>(shelves: AuthTables, list: ListName, owners: Owners<T>, row: Row, owner: Row | undefined) {
  const writtenAt = parseRow("list", row, storedInstant, row.writtenAt);
  const isOver = (ms: number) => plus(writtenAt, ms) < shelves.now();
  if (owner === undefined) {
    if (isOver(given.withoutOwner)) await owners.sweep(row);
    return;
  }
  if (!isOver(given.forOwner) || !(await owners.touch(owner))) return;
  const settled = { id: Number(row.rowKey), version: row.etag, shown: owners.shown(owner) };
  await markClean(shelves, list, settled);
}
