import { mapConcurrently } from "../../platform/azure/row-batches.ts";
import { type EachFieldOf, omitUndefined } from "../../platform/collections.ts";
import { Fault, invalidRequest, type Problem } from "../../platform/fault.ts";
import { confirmWrite, conflict, retryOnConflict, type Stored } from "../../platform/stored.ts";
import { minutes, plus } from "../../platform/time.ts";
import type { Attributes } from "../attributes/attributes.ts";
import { indexHints, nameHint, sendNotices, writeHint } from "../hints.table.ts";
import { newEpoch, newUserId } from "../ids.ts";
import { announceHolder, sortedKeys } from "../otpkeys/assignments.table.ts";
import { keyRow } from "../otpkeys/key-rows.table.ts";
import type { StoredPassword } from "../passwords/password-hash.ts";
import type { User } from "../store.ts";
import { type AuthTables, idKey } from "../tables.table.ts";
import { readName, releaseName, waitOncePerVersion, writeName } from "./names.table.ts";
import { userIn, userParts, userRow } from "./user-rows.table.ts";
import type { Username } from "./username.ts";

export interface NewUser {
  readonly username: Username;
  /**
   * Returns the password of the user with that id, hashed; undefined: the user has none. Called again for another id.
   */
  readonly passwordOf?: (id: number) => Promise<StoredPassword | undefined>;
  readonly attributes?: Attributes;
  /** Prefixes of the OTP keys that the user has from the beginning. */
  readonly otpkeys?: readonly string[];
  /** Default: true. */
  readonly enabled?: boolean;
}

/** Much less than the hour after which clean-up takes the rows of a creation for left ones. */
const maxDurationMs = minutes(10);

/**
 * Creates a user. Writes the name row and the index rows with the id of a user who does not exist yet, and then the
 * user's rows in one transaction, which is the commit. Returns undefined if another user has the folded name: then
 * nothing is written. Throws Fault `invalid` if an OTP key does not exist.
 */
export async function insertUser(
  tables: AuthTables,
  { username, passwordOf, attributes = {}, otpkeys = [], enabled = true }: NewUser,
): Promise<Stored<User> | undefined> {
  const { users, now, random } = tables;
  const { name, folded } = username;
  const epoch = newEpoch(random);
  const latest = plus(now(), maxDurationMs);
  const wait = waitOncePerVersion(tables);
  const newId = () => {
    const id = newUserId(now(), random);
    const password = passwordOf?.(id);
    // If the read fails first, the hash is never awaited: its rejection must not end the process.
    password?.catch(() => {});
    return { id, password };
  };
  let drawn = newId();
  return retryOnConflict(async () => {
    const { id } = drawn;
    const [nameRow, password, rows] = await Promise.all([
      readName(tables, folded),
      drawn.password,
      mapConcurrently(otpkeys, prefix => tables.otpkeys.get(prefix, keyRow)),
    ]);
    // By the random text and not by the id, which another host can draw too.
    const isOwn = nameRow?.value.by === epoch && nameRow.value.id === id;
    if (nameRow !== undefined && !isOwn) {
      const released = await releaseName(tables, folded, nameRow, wait);
      if (released === conflict) return conflict;
      // The user is this call's own if an insert arrives late.
      if (released !== "free") return released.value.epoch === epoch ? released : undefined;
    }
    const keys = rows.filter(row => row !== undefined);
    if (keys.length < otpkeys.length) throw invalidRequest([unknownOtpkey]);
    const user: User = omitUndefined<EachFieldOf<User>>({
      id,
      name,
      password,
      passwordCode: undefined,
      epoch,
      enabled,
      otpkeys: sortedKeys(keys.map(key => ({ prefix: key.partitionKey, id: Number(key.id) }))),
      createdAt: now(),
    });
    const hints = indexHints(user, attributes);
    await sendNotices(tables, [nameHint(folded, id), ...hints]);
    const [isWritten] = await Promise.all([
      writeName(tables, folded, { id, by: epoch }, nameRow?.version),
      mapConcurrently(
        hints.filter(({ table }) => table === "index"),
        hint => writeHint(tables, hint),
      ),
    ]);
    if (!isWritten) return conflict;
    const announced = await mapConcurrently(keys, key => announceHolder(tables, key, id));
    if (announced.includes(false)) return conflict;
    if (now() > latest) throw new Fault("unavailable", "The call took too long. Repeat it.", { retryAfterSeconds: 1 });
    const created = await confirmWrite(
      async () => {
        const inserts = userParts(user, attributes).map(part => ({ insert: part }));
        const [etag] = (await users.transact(idKey(id), inserts)) ?? [];
        return etag === undefined ? undefined : { value: user, version: etag };
      },
      async () => {
        const found = userIn(await users.get(idKey(id), userRow));
        return found?.value.epoch === epoch ? found : undefined;
      },
    );
    if (created !== undefined) return created;
    // Another host has drawn the id, or a call has put a tombstone in its place.
    drawn = newId();
    return conflict;
  });
}

/** The problem of a user who is to have an OTP key that does not exist. */
const unknownOtpkey: Problem = { path: "otpkeys", reason: "must all be prefixes of existing otpkeys" };
