import { Fault } from "../../platform/fault.ts";
import { conflict, retryOnConflict } from "../../platform/retry-on-conflict.ts";
import { confirmWrite } from "../../platform/tables/confirm-write.ts";
import { minutes, plus } from "../../platform/time.ts";
import type { StoredPassword } from "../passwords/password-hash.ts";
import { listHint, nameHint, writeHint } from "../storage/hints.table.ts";
import { newEpoch, newUserId } from "../storage/ids.ts";
import { sendNotices } from "../storage/notices.table.ts";
import { type AuthTables, idKey } from "../storage/tables.table.ts";
import type { Stored, User } from "../store.ts";
import { newPatience, readName, releaseName, writeName } from "./names.table.ts";
import { userIn, userParts, userRow } from "./user-rows.table.ts";
import type { Username } from "./username.ts";

export interface NewUser {
  readonly username: Username;
  /** Returns the password of the user with that id, hashed; undefined: the user has none. Called again for another id. */
  readonly passwordOf?: (id: number) => Promise<StoredPassword | undefined>;
}

/** Much less than the hour after which clean-up takes the rows of a creation for left ones. */
const maxDurationMs = minutes(10);

/**
 * Creates a user. Writes the name row with the id of a user who does not exist yet, and then the user's rows in one
 * transaction, which is the commit. Returns undefined if another user has the folded name: then nothing is written.
 */
export async function insertUser(
  tables: AuthTables,
  { username, passwordOf }: NewUser,
): Promise<Stored<User> | undefined> {
  const { users, now, random } = tables;
  const { name, folded } = username;
  const epoch = newEpoch(random);
  const latest = plus(now(), maxDurationMs);
  const wait = newPatience(tables);
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
    const [row, hash] = await Promise.all([readName(tables, folded), drawn.password]);
    // By the random text and not by the id, which another host can draw too.
    const isOwn = row?.value.by === epoch && row.value.id === drawn.id;
    if (!isOwn) {
      const released = row && (await releaseName(tables, folded, row, wait));
      if (released === conflict) return conflict;
      if (released !== undefined && released !== "free") return released.value.epoch === epoch ? released : undefined;
      const { id } = drawn;
      await sendNotices(tables, [nameHint(folded, id), listHint(folded, id)]);
      const [isWritten] = await Promise.all([
        writeName(tables, folded, { id, by: epoch }, row?.version),
        writeHint(tables, listHint(folded, id)),
      ]);
      if (!isWritten) return conflict;
    }
    const { id } = drawn;
    if (now() > latest) throw new Fault("unavailable", "The call took too long. Repeat it.", { retryAfter: 1 });
    const user: User = {
      id,
      name,
      ...(hash && { password: hash }),
      epoch,
      enabled: true,
      otpkeys: [],
      createdAt: now(),
    };
    const insert = async () => {
      const etags = await users.transact(
        idKey(id),
        userParts(user).map(part => ({ insert: part })),
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
