import { conflict, retryOnConflict } from "../../../retry-on-conflict.ts";
import { type Instant, instant } from "../../../time.ts";
import type { Row } from "../../tables/tables.ts";
import { checkedVersion, idKey, schemaVersion } from "../rows/rows.ts";
import type { AuthTables } from "../rows/tables.ts";
import { type ListName, listRowKeys, listRowOf, type RowKeys, type Shown } from "./list-rows.ts";

export const pointerRow = "pointer";

/** Returns the pointer row of an id. */
const pointerRowOf = (list: ListName, id: number, shown: Shown) => ({
  schema: schemaVersion,
  ...shown,
  partitionKey: idKey(id),
  rowKey: pointerRow,
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
    const id = newId(now(), random);
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

const idEpochMs = Date.UTC(2026, 0);
const idsPerMs = 2 ** 12;

/** Returns when an id was created. */
export const createdAt = (id: number): Instant => instant(idEpochMs + Math.floor(id / idsPerMs));

/** Returns the smallest id that can be created at a time. */
export const firstIdAt = (time: Instant): number => Math.max(1, (Date.parse(time) - idEpochMs) * idsPerMs);

/** Returns a new id: milliseconds since 2026 and 12 random bits. It is below 2^53 for 69 years, and needs no shared counter. */
function newId(now: Instant, random: AuthTables["random"]): number {
  const [high = 0, low = 0] = random(2);
  const id = Math.max(0, Date.parse(now) - idEpochMs) * idsPerMs + (((high << 8) | low) % idsPerMs);
  return Math.max(1, id);
}

/** Reads the pointer of an id. Its owner may no longer exist. */
export async function readPointer({ ids }: AuthTables, list: ListName, id: number): Promise<Row | undefined> {
  const row = checkedVersion(await ids.get(idKey(id), pointerRow));
  return row?.list === list ? row : undefined;
}
