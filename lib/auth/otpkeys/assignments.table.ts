import type { Row } from "../../platform/azure/tables.ts";
import { conflict, retryOnConflict, type Stored } from "../../platform/stored.ts";
import { holderHint, readHint, removeHint, sendNotices } from "../hints.table.ts";
import { type AssignedKey, maxAssignedKeys, type User } from "../store.ts";
import { type AuthTables, finishOrLog, idAtEnd, idKey, schemaVersion, touchAction } from "../tables.table.ts";
import { endPendingWrites, findUser, waitOncePerVersion } from "../users/names.table.ts";
import { replaceUser, userIn, userRow } from "../users/user-rows.table.ts";
import type { UserRef } from "../users/username.ts";
import { keyRow } from "./key-rows.table.ts";

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
  const found = await findUser(tables, userRef);
  if (found === undefined) return "no_user";
  const { id, read: readUser } = found;
  const hint = holderHint(prefix, id);
  const wait = waitOncePerVersion(tables);
  const range = { partitionKey: prefix, from: keyRow, ...(!onlyIfFree && { before: `${keyRow}:` }) };
  let hasTried = false;
  return retryOnConflict(async () => {
    const [user, rows] = await Promise.all([
      readUser(),
      Array.fromAsync(tables.otpkeys.query(range)),
      sendNotices(tables, [hint]),
    ]);
    if (user === undefined) return "no_user";
    const key = rows.find(({ rowKey }) => rowKey === keyRow);
    const assigned = { prefix, id: Number(key?.id) };
    // Also with another epoch: the try succeeded, its response was lost, and the user was reset since.
    if (hasTried && hasKey(user, assigned)) return "assigned";
    if (epoch !== undefined && epoch !== user.value.epoch) return "no_user";
    const others = keysExcept(user.value, prefix);
    // Before `no_key`, so that no OTP key is created for a user who cannot have it.
    if (others.length >= maxAssignedKeys) return "too_many";
    if (key === undefined) return "no_key";
    if (hasKey(user, assigned)) return "assigned";
    const holders = rows.filter(({ rowKey }) => rowKey !== keyRow && rowKey !== hint.rowKey);
    if (holders.length > 0) return (await freeKey(tables, holders, assigned, wait)) ? conflict : "taken";
    if (!(await announceHolder(tables, key, id))) return conflict;
    const next = { ...user.value, otpkeys: sortedKeys([...others, assigned]) };
    hasTried = true;
    return (await replaceUser(tables, user, next)) === undefined ? conflict : "assigned";
  });
}

/** Returns the OTP keys of a user without the one that has the prefix. */
export const keysExcept = ({ otpkeys }: User, prefix: string): readonly AssignedKey[] =>
  otpkeys.filter(each => each.prefix !== prefix);

/** Returns OTP keys in the order in which the row of a user has them. */
export const sortedKeys = (keys: readonly AssignedKey[]): readonly AssignedKey[] =>
  keys.toSorted((one, other) => (one.prefix < other.prefix ? -1 : 1));

/**
 * Writes the index row of a user who is about to have an OTP key, and changes the version of the key that was read.
 * Returns false after a conflict.
 */
export async function announceHolder({ otpkeys }: AuthTables, key: Row, id: number): Promise<boolean> {
  const { partitionKey, rowKey } = holderHint(key.partitionKey, id);
  const actions = [touchAction(key), { upsert: { rowKey, schema: schemaVersion } }];
  return (await otpkeys.transact(partitionKey, actions)) !== undefined;
}

const hasKey = ({ value }: Stored<User>, { prefix, id }: AssignedKey): boolean =>
  value.otpkeys.some(each => each.prefix === prefix && each.id === id);

/** Number of holders that are checked. More are not left of unfinished calls: many users share the OTP key. */
const maxChecked = 8;

/**
 * Removes the index rows of users who do not have the OTP key, which make it look taken. An assignment to them that is
 * under way gets a conflict. Returns false if one has it.
 */
async function freeKey(
  tables: AuthTables,
  holders: readonly Row[],
  key: AssignedKey,
  wait: ReturnType<typeof waitOncePerVersion>,
): Promise<boolean> {
  if (holders.length > maxChecked) return false;
  const found = await Promise.all(
    holders.map(async holder => {
      const id = idAtEnd(holder.rowKey);
      return { holder, id, row: await tables.users.get(idKey(id), userRow) };
    }),
  );
  const users = found.map(({ row }) => userIn(row));
  if (users.some(user => user !== undefined && hasKey(user, key))) return false;
  if (await wait(holders.map(({ etag }) => etag).join())) return true;
  await Promise.all(
    found.map(async ({ holder, id, row }) => {
      if (await endPendingWrites(tables, id, row)) await removeHint(tables, holderHint(key.prefix, id), holder);
    }),
  );
  return true;
}

/** Ends an assignment. Returns false if there is no such user, or the OTP key is not assigned to the user. */
export async function removeAssignment(tables: AuthTables, userRef: UserRef, prefix: string): Promise<boolean> {
  const found = await findUser(tables, userRef);
  if (found === undefined) return false;
  const { id, read: readUser } = found;
  const hint = holderHint(prefix, id);
  let hasTried = false;
  return retryOnConflict(async () => {
    const [user, holder] = await Promise.all([readUser(), readHint(tables, hint), sendNotices(tables, [hint])]);
    const otpkeys = user === undefined ? [] : keysExcept(user.value, prefix);
    // Absent after a try: that try may have succeeded, and its response was lost.
    if (user === undefined || otpkeys.length === user.value.otpkeys.length) return hasTried;
    hasTried = true;
    if ((await replaceUser(tables, user, { ...user.value, otpkeys })) === undefined) return conflict;
    // Only after a write that is certainly this call's own: another call may be about to assign the OTP key again.
    if (holder !== undefined) await finishOrLog(tables.log, () => removeHint(tables, hint, holder));
    return true;
  });
}
