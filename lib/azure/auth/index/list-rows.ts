import type { Instant } from "../../../time.ts";
import type { Value } from "../../tables/entity.ts";
import { idKey, schemaVersion } from "../rows/rows.ts";
import type { AuthTables } from "../rows/tables.ts";

/** A list, named by its partition in the table `ids`. */
export type ListName = "users" | "otpkeys";

/** Columns of a list row: what the list shows, and what locates the owner's row. */
export type Shown = Readonly<Record<string, Value>>;

/** The two keys of a row. */
export interface RowKeys {
  readonly partitionKey: string;
  readonly rowKey: string;
}

/** Returns the keys of the row of an owner in the list sorted by id. */
export const listRowKeys = (list: ListName, id: number): RowKeys => ({ partitionKey: list, rowKey: idKey(id) });

/** Returns the id of the owner of a list row. Every list's row keys end with it. */
export const listedId = ({ rowKey }: RowKeys): number => Number(rowKey.slice(-16));

/** Returns a list row. */
export const listRowOf = (
  keys: RowKeys,
  columns: Shown & { readonly clean: boolean; readonly writtenAt: Instant },
) => ({ schema: schemaVersion, ...columns, ...keys });

/** The keys of a list row that was marked dirty, and its version since then. */
export interface DirtyRow {
  readonly keys: RowKeys;
  readonly version: string;
}

/**
 * Marks list rows dirty and returns their versions. Call it after the owner's version was read, and before the owner is
 * created, deleted or changed by that version: then another process that marks a row clean in between makes that write
 * fail.
 */
export const markDirty = (
  { ids, now }: AuthTables,
  rows: readonly RowKeys[],
  shown: Shown,
): Promise<readonly DirtyRow[]> =>
  Promise.all(
    rows.map(async keys => ({
      keys,
      version: await ids.upsert(listRowOf(keys, { ...shown, clean: false, writtenAt: now() })),
    })),
  );

/** Marks list rows clean after their owner was written. Does not change a row that was marked dirty again since. */
export async function markClean({ ids, now }: AuthTables, listed: readonly DirtyRow[], shown: Shown): Promise<void> {
  await Promise.all(
    listed.map(({ keys, version }) =>
      ids.replace(listRowOf(keys, { ...shown, clean: true, writtenAt: now() }), version),
    ),
  );
}

export async function removeListRows({ ids }: AuthTables, rows: readonly RowKeys[]): Promise<void> {
  await Promise.all(rows.map(({ partitionKey, rowKey }) => ids.remove(partitionKey, rowKey)));
}
