import { conflict, retryOnConflict } from "../../../retry-on-conflict.ts";
import { type Instant, instant } from "../../../time.ts";
import { changeRows } from "../../tables/row-batches.ts";
import type { Row } from "../../tables/tables.ts";
import { checkedVersion, idKey, schemaVersion } from "../rows/rows.ts";
import type { AuthTables } from "../rows/tables.ts";
import { type ListName, listRowKeys, listRowOf, type RowKeys, type Shown } from "./list-rows.ts";

/** Prefix of the row key of a pointer. */
const pointerPrefix = "pointer:";

const idEpochMs = Date.UTC(2026, 0);
const idsPerMs = 2 ** 12;

/** Returns the keys of the pointer of an id. The pointers of one millisecond share a partition, so that a transaction can insert many. */
export const pointerKeys = (id: number): RowKeys => ({
  partitionKey: idKey(Math.floor(id / idsPerMs)),
  rowKey: pointerPrefix + idKey(id),
});

/** Returns the id of a pointer; undefined for any other row. */
export const pointerId = ({ rowKey }: Pick<RowKeys, "rowKey">): number | undefined =>
  rowKey.startsWith(pointerPrefix) ? Number(rowKey.slice(pointerPrefix.length)) : undefined;

/** Returns the pointer row of an id. */
const pointerRowOf = (list: ListName, id: number, shown: Shown) => ({
  schema: schemaVersion,
  ...shown,
  ...pointerKeys(id),
  list,
});

/**
 * Reserves a new id: inserts its pointer and dirty list rows, which show only that the owner may exist. Pointers are
 * never removed, so an id is never used twice (A20).
 * @param rowKeysOf returns the keys of the list rows of an id; the first ones are in the list sorted by id
 */
export const reserveId = (
  { ids, now, random }: AuthTables,
  list: ListName,
  shown: Shown,
  rowKeysOf = (id: number): readonly RowKeys[] => [listRowKeys(list, id)],
) =>
  retryOnConflict(async () => {
    const [id = 1] = newIds(now(), random, 1);
    const rows = rowKeysOf(id);
    const [pointer, ...versions] = await Promise.all([
      ids.insert(pointerRowOf(list, id, shown)),
      ...rows.map(keys => ids.insert(listRowOf(keys, { ...shown, clean: false, writtenAt: now() }))),
    ]);
    const isReserved = pointer !== undefined && versions.every(version => version !== undefined);
    if (isReserved) return { id, listed: rows.map((keys, index) => ({ keys, version: String(versions[index]) })) };
    await Promise.all(
      rows.map(
        ({ partitionKey, rowKey }, index) => versions[index] && ids.remove(partitionKey, rowKey, versions[index]),
      ),
    );
    return conflict;
  });

/**
 * Reserves one new id for each entry of the list sorted by id, as `reserveId` does, in two transactions. At most 100.
 * The ids have the order of the entries.
 */
export const reserveIds = ({ ids, now, random }: AuthTables, list: ListName, shown: readonly Shown[]) =>
  retryOnConflict(async () => {
    const reserved = newIds(now(), random, shown.length).map((id, index) => ({ id, shown: shown[index] ?? {} }));
    const [{ id: first } = { id: 1 }] = reserved;
    const rows = reserved.map(each =>
      listRowOf(listRowKeys(list, each.id), { ...each.shown, clean: false, writtenAt: now() }),
    );
    const [pointers, versions] = await Promise.all([
      ids.transact(
        pointerKeys(first).partitionKey,
        reserved.map(each => ({ insert: pointerRowOf(list, each.id, each.shown) })),
      ),
      ids.transact(
        list,
        rows.map(row => ({ insert: row })),
      ),
    ]);
    if (pointers !== undefined && versions !== undefined)
      return reserved.map(({ id }, index) => ({
        id,
        listed: { keys: listRowKeys(list, id), version: String(versions[index]) },
      }));
    await changeRows(
      ids,
      list,
      (versions ?? []).map((etag, index) => ({ remove: { rowKey: rows[index]?.rowKey ?? "" }, etag: String(etag) })),
    );
    return conflict;
  });

/** Returns when an id was created. */
export const createdAt = (id: number): Instant => instant(idEpochMs + Math.floor(id / idsPerMs));

/** Returns the smallest id that can be created at a time. */
export const firstIdAt = (time: Instant): number => Math.max(1, (Date.parse(time) - idEpochMs) * idsPerMs);

/**
 * Returns new ids, one after another: milliseconds since 2026 and 12 bits that start at random. An id is below 2^53 for
 * 69 years, and needs no shared counter.
 */
function newIds(now: Instant, random: AuthTables["random"], count: number): readonly number[] {
  const [high = 0, low = 0] = random(2);
  const start = ((high << 8) | low) % (idsPerMs - count + 1);
  const first = Math.max(0, Date.parse(now) - idEpochMs) * idsPerMs + start;
  return Array.from({ length: count }, (_, index) => Math.max(1, first) + index);
}

/** Reads the pointer of an id. Its owner may no longer exist. */
export async function readPointer({ ids }: AuthTables, list: ListName, id: number): Promise<Row | undefined> {
  const { partitionKey, rowKey } = pointerKeys(id);
  const row = checkedVersion(await ids.get(partitionKey, rowKey));
  return row?.list === list ? row : undefined;
}
