import { conflict, retryOnConflict, type Stored } from "../../platform/stored.ts";
import { confirmWrite, finishOrLog } from "../../platform/tables/confirm-write.ts";
import { touchRow } from "../../platform/tables/row-batches.ts";
import type { Row } from "../../platform/tables/tables.ts";
import { holderHint, holderPrefix, readHint, removeHint, sendNotices } from "../storage/hints.table.ts";
import { type AuthTables, idAtEnd, idKey, schemaVersion } from "../storage/tables.table.ts";
import { maxAssignedKeys, type User } from "../store.ts";
import { insertTombstone, locateUser, readLocated, waitOncePerVersion } from "../users/names.table.ts";
import { replaceUser, touchAction, userIn, userRow } from "../users/user-rows.table.ts";
import type { UserRef } from "../users/username.ts";
import { keyPartition, keyRow } from "./key-rows.table.ts";

interface AssignOptions {
  /** Returns `taken` if another user has the OTP key. */
  readonly onlyIfFree?: boolean;
  /** Returns `no_user` if the user's credential epoch is another. */
  readonly epoch?: number;
}

/**
 * Assigns an OTP key. Succeeds also if it is assigned to this user already. The index row is written in one transaction
 * with the key, by the key's version, so that a deletion of the key that saw no holder gets a conflict, and so does
 * another assignment of a free key.
 */
export async function addAssignment(
  tables: AuthTables,
  userRef: UserRef,
  prefix: string,
  { onlyIfFree = false, epoch }: AssignOptions = {},
): Promise<"assigned" | "no_user" | "no_key" | "taken" | "too_many"> {
  const { otpkeys } = tables;
  const wait = waitOncePerVersion(tables);
  const readKey = async (): Promise<readonly Row[]> => {
    const partitionKey = keyPartition(prefix);
    if (onlyIfFree) return Array.fromAsync(otpkeys.query({ partitionKey, from: keyRow }));
    const row = await otpkeys.get(partitionKey, keyRow);
    return row === undefined ? [] : [row];
  };
  const id = await locateUser(tables, userRef);
  if (id === undefined) return "no_user";
  const hint = holderHint(prefix, id);
  let as = userRef;
  return retryOnConflict(async () => {
    const [user, rows] = await Promise.all([
      readLocated(tables, as, id),
      readKey(),
      as === userRef && sendNotices(tables, [hint]),
    ]);
    if (user === undefined) return "no_user";
    if (epoch !== undefined && epoch !== user.value.epoch) return "no_user";
    as = { by: "id", id };
    const others = user.value.otpkeys.filter(each => each.prefix !== prefix);
    // Before `no_key`, so that no OTP key is created for a user who cannot have it.
    if (others.length >= maxAssignedKeys) return "too_many";
    const key = rows.find(({ rowKey }) => rowKey === keyRow);
    if (key === undefined) return "no_key";
    const assigned = { prefix, id: Number(key.id) };
    if (hasKey(user, assigned)) return "assigned";
    const holders = rows.filter(({ rowKey }) => rowKey.startsWith(holderPrefix) && rowKey !== hint.rowKey);
    if (holders.length > 0) return (await freeKey(tables, holders, assigned, wait)) ? conflict : "taken";
    if (!(await announceHolder(tables, key, id))) return conflict;
    const all = [...others, assigned].sort((one, other) => (one.prefix < other.prefix ? -1 : 1));
    const next = { ...user.value, otpkeys: all };
    const written = await confirmWrite(
      () => replaceUser(tables, next, user.version),
      async () => {
        const found = await readLocated(tables, as, id);
        return found !== undefined && hasKey(found, assigned) ? found : undefined;
      },
    );
    return written === undefined ? conflict : "assigned";
  });
}

/**
 * Writes the index row of a user who is about to have an OTP key, and changes the version of the key that was read.
 * Returns false after a conflict.
 */
export async function announceHolder({ otpkeys }: AuthTables, key: Row, id: number): Promise<boolean> {
  const { partitionKey, rowKey } = holderHint(key.partitionKey, id);
  const actions = [touchAction(key), { upsert: { rowKey, schema: schemaVersion } }];
  return (await otpkeys.transact(partitionKey, actions)) !== undefined;
}

const hasKey = ({ value }: Stored<User>, { prefix, id }: { readonly prefix: string; readonly id: number }): boolean =>
  value.otpkeys.some(each => each.prefix === prefix && each.id === id);

/** Number of holders that are checked. More are not left of unfinished calls: many users share the OTP key. */
const maxChecked = 8;

/**
 * Removes the index rows of users who do not have the OTP key, which make it look taken. Each user gets another
 * version, so that an assignment that is under way gets a conflict. Returns false if one has it.
 */
async function freeKey(
  tables: AuthTables,
  holders: readonly Row[],
  key: { readonly prefix: string; readonly id: number },
  wait: ReturnType<typeof waitOncePerVersion>,
): Promise<boolean> {
  if (holders.length > maxChecked) return false;
  const found = await Promise.all(
    holders.map(async holder => {
      const row = await tables.users.get(idKey(idAtEnd(holder.rowKey)), userRow);
      return { holder, row, user: userIn(row) };
    }),
  );
  if (found.some(({ user }) => user !== undefined && hasKey(user, key))) return false;
  if (await wait(holders.map(({ etag }) => etag).join())) return true;
  await Promise.all(
    found.map(async ({ holder, row, user }) => {
      if (row !== undefined && user !== undefined && !(await touchRow(tables.users, row))) return;
      if (row === undefined && !(await insertTombstone(tables, idAtEnd(holder.rowKey)))) return;
      await removeHint(tables, holderHint(key.prefix, idAtEnd(holder.rowKey)), holder);
    }),
  );
  return true;
}

/** Ends an assignment. Returns false if there is no such user, or the OTP key is not assigned to the user. */
export async function removeAssignment(tables: AuthTables, userRef: UserRef, prefix: string): Promise<boolean> {
  const id = await locateUser(tables, userRef);
  if (id === undefined) return false;
  const hint = holderHint(prefix, id);
  let as = userRef;
  let hasTried = false;
  return retryOnConflict(async () => {
    const [user, holder] = await Promise.all([
      readLocated(tables, as, id),
      readHint(tables, hint),
      !hasTried && sendNotices(tables, [hint]),
    ]);
    const others = user?.value.otpkeys.filter(each => each.prefix !== prefix) ?? [];
    // Absent after a try: that try may have succeeded, and its response was lost.
    if (user === undefined || others.length === user.value.otpkeys.length) return hasTried;
    as = { by: "id", id };
    hasTried = true;
    const ended = await confirmWrite<"here" | "elsewhere">(
      async () => (await replaceUser(tables, { ...user.value, otpkeys: others }, user.version)) && "here",
      async () => {
        const found = await readLocated(tables, as, id);
        return found?.value.otpkeys.some(each => each.prefix === prefix) ? undefined : "elsewhere";
      },
    );
    if (ended === undefined) return conflict;
    // Only after a write that is certainly this call's own: another call may be about to assign the OTP key again.
    if (ended === "here" && holder !== undefined) {
      await finishOrLog(tables.log, () => removeHint(tables, hint, holder));
    }
    return true;
  });
}
