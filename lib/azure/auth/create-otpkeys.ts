import type { NewOtpKey, OtpKey, Stored } from "../../auth/store.ts";
import { finishOrLog } from "../tables/finish-or-log.ts";
import { type ConditionalAction, changeRows, mapConcurrently } from "../tables/row-batches.ts";
import { sweepKey } from "./clean-up/sweep.ts";
import { reserveId, reserveIds } from "./index/ids.ts";
import { keyWithAttributes } from "./index/key-rows.ts";
import { listRowKeys, listRowOf, markClean, removeListRows } from "./index/list-rows.ts";
import { keyRow, ownerOf, ownersOf, toKeyColumns } from "./rows/rows.ts";
import type { AuthTables } from "./rows/tables.ts";

const list = "otpkeys";

const shownOf = ({ prefix, enabled }: NewOtpKey) => ({ prefix, enabled });

/** Creates an OTP key. Returns undefined if the prefix is taken. */
export async function createKey(tables: AuthTables, given: NewOtpKey): Promise<Stored<OtpKey> | undefined> {
  const { prefix } = given;
  const shown = shownOf(given);
  const [existing, { id, listed }] = await Promise.all([
    keyWithAttributes(tables, prefix, ["schema", "id"]),
    reserveId(tables, list, shown),
  ]);
  const key: OtpKey = { ...given, id, createdAt: tables.now() };
  const isTaken = existing.some(({ rowKey }) => rowKey === keyRow);
  const etag = isTaken ? undefined : await insertKey(tables, key);
  if (etag === undefined) {
    await removeListRows(tables, [listRowKeys(list, id)]);
    return undefined;
  }
  await finishOrLog(tables.log, () =>
    Promise.all([
      markClean(tables, listed, shown),
      mapConcurrently(ownersOf(existing), owner => sweepKey(tables, { prefix, id: owner })),
    ]),
  );
  return { value: key, version: etag };
}

/**
 * Creates up to 100 OTP keys: one call for each, and three transactions for all list rows and pointers. Unlike `createKey`,
 * leaves the attributes of a deleted OTP key with the same prefix: they have its id, so they do not count for the new one.
 * The next list that reads the dirty list row of the deleted OTP key deletes them.
 */
export async function createKeys(
  tables: AuthTables,
  given: readonly NewOtpKey[],
): Promise<readonly PromiseSettledResult<Stored<OtpKey> | undefined>[]> {
  if (given.length === 0) return [];
  const reserved = await reserveIds(tables, list, given.map(shownOf));
  const createdAt = tables.now();
  const written = await mapConcurrently(reserved, async ({ id, listed }, index) => {
    const key: OtpKey = { ...(given[index] as NewOtpKey), id, createdAt };
    const [result] = await Promise.allSettled([insertKey(tables, key)]);
    return { key, listed, result };
  });
  const writtenAt = tables.now();
  const changes = written.flatMap<ConditionalAction>(({ key, listed: { keys, version: etag }, result }) => {
    // A key whose call failed may have been written. Its list row stays dirty, so that a list looks.
    if (result.status === "rejected") return [];
    if (result.value === undefined) return [{ remove: { rowKey: keys.rowKey }, etag }];
    return [{ replace: listRowOf(keys, { ...shownOf(key), clean: true, writtenAt }), etag }];
  });
  await finishOrLog(tables.log, () => changeRows(tables.ids, list, changes));
  return written.map(({ key, result }) => {
    if (result.status === "rejected") return result;
    const version = result.value;
    return { status: "fulfilled", value: version === undefined ? version : { value: key, version } };
  });
}

/** Inserts an OTP key's row and returns its ETag; undefined if another key has the prefix. */
async function insertKey({ otpkeys }: AuthTables, key: OtpKey): Promise<string | undefined> {
  const etag = await otpkeys.insert({ partitionKey: key.prefix, rowKey: keyRow, ...toKeyColumns(key) });
  if (etag !== undefined) return etag;
  const existing = await otpkeys.get(key.prefix, keyRow);
  // The row is this call's own if the response to an earlier try was lost.
  return ownerOf(existing) === key.id ? existing?.etag : undefined;
}
