import { type EachFieldOf, omitUndefined } from "../../platform/collections.ts";
import { Fault, invalidRequest, type Problem } from "../../platform/fault.ts";
import { conflict, retryOnConflict, type Stored } from "../../platform/stored.ts";
import { confirmWrite } from "../../platform/tables/confirm-write.ts";
import { mapConcurrently } from "../../platform/tables/row-batches.ts";
import { minutes, plus } from "../../platform/time.ts";
import type { Attributes } from "../attributes/attributes.ts";
import { announceHolder } from "../otpkeys/assignments.table.ts";
import { keyPartition, keyRow } from "../otpkeys/key-rows.table.ts";
import type { StoredPassword } from "../passwords/password-hash.ts";
import { indexHints, nameHint, sendNotices, writeHint } from "../storage/hints.table.ts";
import { newEpoch, newUserId } from "../storage/ids.ts";
import { type AuthTables, idKey } from "../storage/tables.table.ts";
import type { User } from "../store.ts";
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
  /** Whether the rows of the drawn id could not be inserted. */
  let isSpent = false;
  return retryOnConflict(async () => {
    if (isSpent) drawn = newId();
    isSpent = false;
    const [row, hash, keys] = await Promise.all([
      readName(tables, folded),
      drawn.password,
      mapConcurrently(otpkeys, prefix => tables.otpkeys.get(keyPartition(prefix), keyRow)),
    ]);
    const { id } = drawn;
    const found = keys.filter(key => key !== undefined);
    const assigned = found
      .map(key => ({ prefix: key.partitionKey, id: Number(key.id) }))
      .sort((one, other) => (one.prefix < other.prefix ? -1 : 1));
    // By the random text and not by the id, which another host can draw too.
    const isOwn = row?.value.by === epoch && row.value.id === drawn.id;
    if (!isOwn) {
      const released = row && (await releaseName(tables, folded, row, wait));
      if (released === conflict) return conflict;
      if (released !== undefined && released !== "free") return released.value.epoch === epoch ? released : undefined;
      if (found.length < otpkeys.length) throw unknownKey();
      const hints = indexHints({ id, name, otpkeys: assigned }, attributes);
      await sendNotices(tables, [nameHint(folded, id), ...hints]);
      const [isWritten] = await Promise.all([
        writeName(tables, folded, { id, by: epoch }, row?.version),
        mapConcurrently(
          hints.filter(({ table }) => table === "index"),
          hint => writeHint(tables, hint),
        ),
      ]);
      if (!isWritten) return conflict;
    }
    if (found.length < otpkeys.length) throw unknownKey();
    const announced = await mapConcurrently(found, key => announceHolder(tables, key, id));
    if (announced.includes(false)) return conflict;
    if (now() > latest) throw new Fault("unavailable", "The call took too long. Repeat it.", { retryAfterSeconds: 1 });
    const user: User = omitUndefined<EachFieldOf<User>>({
      id,
      name,
      password: hash,
      passwordCode: undefined,
      epoch,
      enabled,
      otpkeys: assigned,
      createdAt: now(),
    });
    const insert = async () => {
      const etags = await users.transact(
        idKey(id),
        userParts(user, attributes).map(part => ({ insert: part })),
      );
      return etags?.[0] === undefined ? undefined : { value: user, version: etags[0] };
    };
    isSpent = true;
    const created = await confirmWrite(insert, async () => {
      const found = userIn(await users.get(idKey(id), userRow));
      return found?.value.epoch === epoch ? found : undefined;
    });
    return created ?? conflict;
  });
}

const unknownKey = (): Fault => invalidRequest([unknownOtpkey]);

/** The problem of a user who is to have an OTP key that does not exist. */
export const unknownOtpkey: Problem = { path: "otpkeys", reason: "must all be prefixes of existing otpkeys" };
